import { describe, expect, it } from "vitest";
import { SECRET_MARK, SecretMask } from "../../../src/lib/secret-mask.js";

const KEY = "sk-1234567890";
const mask = new SecretMask([KEY, "pa$$(w)+rd", "short"]);

describe("a mask of secrets", () => {
  it("takes out every secret as it stands, whatever characters it has", () => {
    expect(mask.text(`a ${KEY} b ${KEY}, pa$$(w)+rd.`)).toBe(
      `a ${SECRET_MARK} b ${SECRET_MARK}, ${SECRET_MARK}.`,
    );
  });

  it("leaves other text as it is, also the beginning of a secret", () => {
    expect(mask.text("sk-123 short $& pa$$")).toBe("sk-123 short $& pa$$");
  });

  it("leaves everything as it is where no secret is known", () => {
    const none = new SecretMask(["short"]);
    const value = { a: [KEY] };
    const bytes = Buffer.from(KEY);
    expect([none.text(KEY), none.openText(KEY), none.stream().push(KEY), none.stream().end()]).toEqual([
      KEY,
      KEY,
      KEY,
      "",
    ]);
    expect([none.value(value), none.byteStream().push(bytes)]).toEqual([value, bytes]);
    expect(none.byteStream().end()).toHaveLength(0);
  });

  it("looks through lists and groups, and at the names of fields", () => {
    expect(mask.value({ a: [`x${KEY}`, 1, null, true], [KEY]: { b: KEY } })).toEqual({
      a: [`x${SECRET_MARK}`, 1, null, true],
      [SECRET_MARK]: { b: SECRET_MARK },
    });
  });

  it("leaves out what lies too deep to be looked at", () => {
    let value: unknown = KEY;
    for (let depth = 0; depth < 70; depth += 1) value = [value];
    expect(JSON.stringify(mask.value(value))).not.toContain(KEY);
  });

  it("keeps what looks like a prototype a field", () => {
    const value: unknown = JSON.parse('{"__proto__":{"a":1}}');
    expect(JSON.stringify(mask.value(value))).toBe('{"__proto__":{"a":1}}');
  });

  it("takes the whole of the longer of two secrets that begin alike", () => {
    const both = new SecretMask(["abcdefgh", "abcdefghij"]);
    expect(both.text("abcdefghij abcdefghi")).toBe(`${SECRET_MARK} ${SECRET_MARK}i`);
    const stream = both.stream();
    expect(stream.push("abcdefgh") + stream.push("ij.") + stream.end()).toBe(`${SECRET_MARK}.`);
  });

  it("shows an unfinished text without an end that may become a secret", () => {
    expect(mask.openText(`${KEY} is sk-12`)).toBe(`${SECRET_MARK} is `);
    expect(mask.openText("is sk-13")).toBe("is sk-13");
  });
});

describe("a masked stream", () => {
  const text = `s${KEY}${KEY} sk-1234 sk-sk-12345678901 pa$$(w)+rd 你 sk-12345678`;
  const masked = mask.text(text);

  it.each([1, 2, 3, 5, 7, 11])("gives the same as the whole text in pieces of %d characters", (size) => {
    const stream = mask.stream();
    let shown = "";
    for (let at = 0; at < text.length; at += size) shown += stream.push(text.slice(at, at + size));
    expect(shown + stream.end()).toBe(masked);
    expect(stream.end()).toBe("");
  });

  it.each([1, 2, 3, 5, 7, 11])("gives the same bytes in pieces of %d bytes", (size) => {
    const bytes = Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xfe, 0])]);
    const stream = mask.byteStream();
    const shown: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += size) shown.push(stream.push(bytes.subarray(at, at + size)));
    shown.push(stream.end());
    expect(Buffer.concat(shown)).toEqual(Buffer.concat([Buffer.from(masked), Buffer.from([0xff, 0xfe, 0])]));
  });

  it("finds secrets that are not ASCII in bytes", () => {
    const stream = new SecretMask(["pässwörter"]).byteStream();
    const bytes = Buffer.from("é pässwörter é");
    const shown = [stream.push(bytes.subarray(0, 7)), stream.push(bytes.subarray(7)), stream.end()];
    expect(Buffer.concat(shown).toString()).toBe(`é ${SECRET_MARK} é`);
  });

  it("gives on what has no part of a secret at once, as the same bytes", () => {
    const piece = Buffer.from("nothing of it");
    expect(mask.byteStream().push(piece)).toBe(piece);
  });
});
