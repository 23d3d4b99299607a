import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isWellFormed, measureText, prefixWithin, suffixWithin } from "../../../src/lib/code-points.js";

const text = fc.string({ unit: "binary", maxLength: 40 });
const limit = fc.nat(60);

function longest(candidates: readonly string[], chars: number, bytes: number): string {
  const fits = (part: string): boolean =>
    Array.from(part).length <= chars && Buffer.byteLength(part) <= bytes;
  return candidates.findLast(fits) ?? "";
}

describe("measureText", () => {
  it("counts code points and UTF-8 bytes", () => {
    expect(measureText("aé你😀")).toEqual({ chars: 4, bytes: 10 });
    expect(measureText("plain")).toEqual({ chars: 5, bytes: 5 });
  });

  it("agrees with the standard library", () => {
    fc.assert(
      fc.property(text, (sample) => {
        expect(measureText(sample)).toEqual({
          chars: Array.from(sample).length,
          bytes: new TextEncoder().encode(sample).length,
        });
      }),
    );
  });
});

describe("isWellFormed", () => {
  it("knows text that has a UTF-8 form", () => {
    expect(isWellFormed("a😀")).toBe(true);
    expect(isWellFormed("a\uD83D")).toBe(false);
    expect(isWellFormed("\uDE00a")).toBe(false);
  });
});

describe("prefixWithin and suffixWithin", () => {
  it("never split a character", () => {
    expect(prefixWithin("a😀b", { chars: 2, bytes: 4 })).toBe("a");
    expect(suffixWithin("a😀b", { chars: 2, bytes: 4 })).toBe("b");
    expect(prefixWithin("a😀b", { chars: 2, bytes: 5 })).toBe("a😀");
    expect(suffixWithin("a😀b", { chars: 2, bytes: 5 })).toBe("😀b");
  });

  it("count a lone surrogate as the mark it becomes", () => {
    expect(prefixWithin("\uD800x", { chars: 9, bytes: 3 })).toBe("\uD800");
    expect(suffixWithin("x\uDC00", { chars: 9, bytes: 3 })).toBe("\uDC00");
  });

  it("give the longest part within both limits", () => {
    fc.assert(
      fc.property(text, limit, limit, (sample, chars, bytes) => {
        const points = Array.from(sample);
        const prefixes = points.map((_, i) => points.slice(0, i + 1).join(""));
        const suffixes = points.map((_, i) => points.slice(points.length - i - 1).join(""));
        expect(prefixWithin(sample, { chars, bytes })).toBe(longest(prefixes, chars, bytes));
        expect(suffixWithin(sample, { chars, bytes })).toBe(longest(suffixes, chars, bytes));
      }),
    );
  });
});
