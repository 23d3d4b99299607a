import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBase64 } from "../../../src/box/measure-base64.js";

const bytesOf = (data: string, maxBytes = 1000) => {
  const decoded = decodeBase64(data, maxBytes);
  return decoded.ok ? Buffer.from(decoded.bytes).toString("latin1") : decoded;
};

describe("decodeBase64", () => {
  it("gives back every byte, whatever the alphabet, padding and line breaks", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const text = Buffer.from(bytes).toString("base64");
        const wrapped = text.replace(/.{7}/g, "$&\r\n");
        const url = Buffer.from(bytes).toString("base64url");
        for (const form of [text, wrapped, url, `data:;base64,${text}`]) {
          const decoded = decodeBase64(form, 200);
          expect(decoded.ok ? Uint8Array.from(decoded.bytes) : null).toEqual(Uint8Array.from(bytes));
        }
      }),
    );
  });

  it("reads type and bytes of a data URI", () => {
    expect(decodeBase64("data:Image/PNG;base64,aGk=", 10)).toMatchObject({ ok: true, mimeType: "image/png" });
    expect(decodeBase64("data:text/plain;charset=utf-8;base64,aGk", 10)).toMatchObject({
      mimeType: "text/plain",
    });
    expect(decodeBase64("data:;base64,", 10)).toMatchObject({ ok: true, mimeType: null });
    expect(bytesOf("data:,a%20b%zz%é")).toBe("a b%zz%Ã©");
    expect(bytesOf("data:text/plain,aGk=")).toBe("aGk=");
  });

  it.each(["a", "aGk$", "a=b=", "aGk===", "aaaaa", "data:;base64,(", "é"])(
    "refuses %s as no base64",
    (data) => {
      expect(bytesOf(data)).toMatchObject({ ok: false, fault: "not_base64", sizeBytes: null });
    },
  );

  it("counts the size on the text and decodes nothing above the limit", () => {
    const data = Buffer.alloc(1001).toString("base64");
    expect(bytesOf(data, 1001)).toHaveLength(1001);
    expect(bytesOf(data, 1000)).toEqual({
      ok: false,
      fault: "too_large",
      reason: "It has 1001 bytes; the limit is 1000 bytes per file.",
      sizeBytes: 1001,
    });
    expect(bytesOf("data:,%41%42c", 2)).toMatchObject({ fault: "too_large", sizeBytes: 3 });
  });
});
