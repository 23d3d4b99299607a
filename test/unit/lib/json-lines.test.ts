import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonLines } from "../../../src/lib/json-lines.js";

const LIMITS = { maxBytes: 10_000, maxValues: 10_000, maxDepth: 100 };

describe("JsonLines", () => {
  it("gives the same values however the bytes are cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue()),
        fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
        (values, cuts) => {
          const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
          const lines = new JsonLines(LIMITS);
          const seen: unknown[] = [];
          for (let at = 0; at < bytes.length; ) {
            const size = Number(cuts.next().value);
            seen.push(...lines.push(bytes.subarray(at, at + size)));
            at += size;
          }
          expect(JSON.stringify(seen)).toBe(JSON.stringify(values));
        },
      ),
    );
  });

  it("never holds more of a line than the limit", () => {
    const lines = new JsonLines({ ...LIMITS, maxBytes: 4 });
    expect([...lines.push(Buffer.from("1234\n123"))]).toEqual([1234]);
    expect(() => [...lines.push(Buffer.from("45"))]).toThrow(/longer than 4 bytes/);
  });

  it("refuses what is no JSON", () => {
    expect(() => [...new JsonLines(LIMITS).push(Buffer.from("hello\n"))]).toThrow(SyntaxError);
  });

  it("refuses a line that costs too much to read, and counts each line anew", () => {
    const lines = new JsonLines({ ...LIMITS, maxValues: 3 });
    expect([...lines.push(Buffer.from("[1,2]\n[1,2]\n"))]).toHaveLength(2);
    expect(() => [...lines.push(Buffer.from("[1,2,3]\n"))]).toThrow("JSON may hold 3 values");
  });
});
