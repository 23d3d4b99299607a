import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Missing, OutputWindow, TextWindow, windowText } from "../../../src/lib/output-window.js";

const NO_BYTES = Number.MAX_SAFE_INTEGER;
const marker = ({ chars }: Missing): string => `\n[${chars} left out]\n`;
const size = (text: string): number => Array.from(text).length;

function windowInPieces(text: string, limits: { chars: number; bytes: number }, sizes: readonly number[]) {
  const window = new TextWindow(limits);
  const points = Array.from(text);
  let start = 0;
  for (const length of [...sizes, points.length]) {
    window.push(points.slice(start, start + length).join(""));
    start += length;
  }
  return window.finish(marker);
}

describe("windowText", () => {
  it("leaves a text of exactly the limit untouched", () => {
    const text = "x".repeat(50);
    expect(windowText(text, { chars: 50, bytes: 50 }, marker)).toEqual({
      text,
      truncatedBy: null,
      totalChars: 50,
    });
  });

  it("gives the beginning 60 % and the end 40 % of the room that the marker leaves", () => {
    const { text, truncatedBy } = windowText(
      "a".repeat(60) + "b".repeat(60),
      { chars: 100, bytes: NO_BYTES },
      marker,
    );
    expect(text).toBe(`${"a".repeat(50)}\n[36 left out]\n${"b".repeat(34)}`);
    expect(truncatedBy).toBe("chars");
  });

  it("says that bytes struck when the characters would have fitted", () => {
    const { text, truncatedBy } = windowText("你".repeat(50), { chars: 100, bytes: 120 }, marker);
    expect(truncatedBy).toBe("bytes");
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(120);
    expect(text).toContain("left out");
  });

  it("keeps the beginning alone where a marker has no room", () => {
    expect(windowText("abcdefgh", { chars: 4, bytes: NO_BYTES }, marker).text).toBe("abcd");
  });
});

const anyText = fc
  .array(fc.constantFrom("a", " ", "\n", "é", "你", "😀"), { maxLength: 400 })
  .map((all) => all.join(""));
const limits = fc.record({
  chars: fc.integer({ min: 0, max: 120 }),
  bytes: fc.integer({ min: 0, max: 400 }),
});
const sizes = fc.array(fc.nat(60), { maxLength: 12 });

describe("TextWindow", () => {
  it("never exceeds a limit, and leaves what fits untouched", () => {
    fc.assert(
      fc.property(anyText, limits, sizes, (text, limit, pieces) => {
        const fits = size(text) <= limit.chars && Buffer.byteLength(text) <= limit.bytes;
        const windowed = windowInPieces(text, limit, pieces);
        expect(size(windowed.text)).toBeLessThanOrEqual(limit.chars);
        expect(Buffer.byteLength(windowed.text)).toBeLessThanOrEqual(limit.bytes);
        expect(windowed.totalChars).toBe(size(text));
        expect(windowed.truncatedBy === null).toBe(fits);
        expect(!fits || windowed.text === text).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("shows a beginning and an end of the text and counts exactly what is between", () => {
    const longText = fc.array(fc.constantFrom("a", "é", "你", "😀"), { minLength: 90, maxLength: 400 });
    const someLimits = fc.record({
      chars: fc.integer({ min: 20, max: 80 }),
      bytes: fc.integer({ min: 20, max: 400 }),
    });
    fc.assert(
      fc.property(longText, someLimits, sizes, (points, limit, pieces) => {
        const text = points.join("");
        const windowed = windowInPieces(text, limit, pieces);
        const [head = "", missing = "", tail = ""] = windowed.text.split(/\n\[(\d+) left out\]\n/u);
        expect(text.startsWith(head)).toBe(true);
        expect(text.endsWith(tail)).toBe(true);
        expect(size(head) + Number(missing) + size(tail)).toBe(size(text));
      }),
    );
  });

  it("gives the same whatever the pieces", () => {
    fc.assert(
      fc.property(anyText, limits, sizes, (text, limit, pieces) => {
        expect(windowInPieces(text, limit, pieces)).toEqual(windowText(text, limit, marker));
      }),
    );
  });
});

describe("OutputWindow", () => {
  it("counts the bytes that came in and keeps a split character whole", () => {
    const window = new OutputWindow({ chars: 10, bytes: 100 });
    window.push(Uint8Array.of(0x61, 0xe4, 0xbd));
    window.push(Uint8Array.of(0xa0));
    window.end();
    expect(window.finish(marker).text).toBe("a你");
    expect([window.sizeBytes, window.isUtf8, window.isCut]).toEqual([4, true, false]);
  });

  it("tells that bytes were no UTF-8, at the very end too", () => {
    const window = new OutputWindow({ chars: 10, bytes: 100 });
    window.push(Uint8Array.of(0x61, 0xe4));
    window.end();
    expect(window.finish(marker).text).toBe("a\uFFFD");
    expect(window.isUtf8).toBe(false);
  });

  it("holds a bounded part of a large input", () => {
    const window = new OutputWindow({ chars: 100, bytes: NO_BYTES });
    const piece = Buffer.from("0123456789".repeat(1000));
    for (let i = 0; i < 2000; i += 1) window.push(piece);
    window.end();
    const { text } = window.finish(marker);
    expect(window.sizeBytes).toBe(20_000_000);
    expect(text).toMatch(/^0123456789.*\[\d+ left out\].*0123456789$/su);
    expect(size(text)).toBe(100);
  });
});
