import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Utf8Text } from "../../../src/lib/utf8-text.js";

const nearlyText = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 4 }),
      fc.constantFrom(
        [0xe4, 0xbd, 0xa0],
        [0xe4, 0xbd],
        [0xf0, 0x9f],
        [0xef, 0xbb, 0xbf],
        [0xc3],
        [0x80],
        [0xed, 0xa0, 0x80],
      ),
      fc.string({ unit: "binary", maxLength: 3 }).map((text) => Array.from(new TextEncoder().encode(text))),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Uint8Array.from(parts.flatMap((part) => [...part])));

function readInPieces(bytes: Uint8Array, sizes: readonly number[]): { text: string; isValid: boolean } {
  const reader = new Utf8Text();
  let [text, start] = ["", 0];
  for (const size of sizes) {
    text += reader.push(bytes.subarray(start, start + size));
    start += size;
  }
  text += reader.push(bytes.subarray(start)) + reader.end();
  return { text, isValid: reader.isValid };
}

describe("Utf8Text", () => {
  it("keeps a character whole that was split over two pieces", () => {
    const reader = new Utf8Text();
    expect(reader.push(Uint8Array.of(0x61, 0xe4, 0xbd))).toBe("a");
    expect(reader.pendingBytes).toBe(2);
    expect(reader.push(Uint8Array.of(0xa0))).toBe("你");
    expect(reader.end()).toBe("");
    expect(reader.isValid).toBe(true);
  });

  it("marks bytes that are no UTF-8 and says so", () => {
    const reader = new Utf8Text();
    expect(reader.push(Uint8Array.of(0xff, 0xfe, 0x61))).toBe("\uFFFD\uFFFDa");
    expect(reader.isValid).toBe(false);
  });

  it("marks a sequence that the end of the input cut", () => {
    const reader = new Utf8Text();
    expect(reader.push(Uint8Array.of(0xe4, 0xbd))).toBe("");
    expect(reader.isValid).toBe(true);
    expect(reader.end()).toBe("\uFFFD");
    expect(reader.isValid).toBe(false);
  });

  it("takes a replacement mark in the input for what it is", () => {
    const reader = new Utf8Text();
    expect(reader.push(new TextEncoder().encode("\uFFFD"))).toBe("\uFFFD");
    expect(reader.isValid).toBe(true);
  });

  it("gives the same text as decoding at once, wherever the input is cut", () => {
    fc.assert(
      fc.property(nearlyText, fc.array(fc.nat(5), { maxLength: 20 }), (bytes, sizes) => {
        const expected = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
        const { text, isValid } = readInPieces(bytes, sizes);
        expect(text).toBe(expected);
        expect(isValid).toBe(isUtf8(bytes));
      }),
      { numRuns: 500 },
    );
  });
});
