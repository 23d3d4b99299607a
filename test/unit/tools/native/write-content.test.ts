import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeContent } from "../../../../src/tools/native/write-content.js";

describe("decodeContent", () => {
  it.each(["", "YQ==", "YQ", "YWI=", "Y W\nI=", "+/+/"])("takes %j as base64", (content) => {
    expect(decodeContent(content, "base64")).toMatchObject({ ok: true });
  });

  it.each(["a", "YQ=", "Y===", "=", "YR==", "-_-_", "YQ==YQ==", "a,b", "data:text/plain;base64,YQ=="])(
    "refuses %j as base64",
    (content) => {
      expect(decodeContent(content, "base64")).toMatchObject({ ok: false });
    },
  );

  it("gives back any bytes and any text exactly", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), fc.string({ unit: "binary" }), (bytes, text) => {
        const base64 = Buffer.from(bytes).toString("base64");
        expect(decodeContent(base64, "base64")).toEqual({ ok: true, bytes: Buffer.from(bytes) });
        expect(decodeContent(text, "text")).toEqual({ ok: true, bytes: Buffer.from(text) });
      }),
    );
  });
});
