import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonLines } from "../../../../src/adapters/plugins/json-lines.js";

describe("JsonLines", () => {
  it("gives the same values however the bytes are cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue()),
        fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
        (values, cuts) => {
          const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
          const lines = new JsonLines(10_000);
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
    const lines = new JsonLines(4);
    expect([...lines.push(Buffer.from("1234\n123"))]).toEqual([1234]);
    expect(() => [...lines.push(Buffer.from("45"))]).toThrow(/longer than 4 bytes/);
  });

  it("refuses what is no JSON", () => {
    expect(() => [...new JsonLines(100).push(Buffer.from("hello\n"))]).toThrow(SyntaxError);
  });
});
