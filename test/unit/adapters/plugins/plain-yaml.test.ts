import { describe, expect, it } from "vitest";
import { parsePlainYaml } from "../../../../src/adapters/plugins/plain-yaml.js";

const SIZE = 256 * 1024;

const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

describe("parsePlainYaml", () => {
  it("reads blocks, brackets, texts of several lines and quotes", () => {
    const text = "a:\n  - - [x, {b: 1}]\n    - q\n  - |\n    text\n      deep\nc: 'x\n  y'\n";
    expect(parsePlainYaml(text)).toEqual({ a: [[["x", { b: 1 }], "q"], "text\n  deep\n"], c: "x y" });
  });

  it("takes text of any length and keys of objects for nothing but data", () => {
    const content = parsePlainYaml(`__proto__: {a: 1}\nconstructor: 2\nlong: ${"x".repeat(100_000)}`);
    expect(JSON.stringify(content)).toContain('{"__proto__":{"a":1},"constructor":2,"long":"');
    expect(Object.getPrototypeOf(content)).toBe(Object.prototype);
  });

  // Each of them, taken as it is, ends the process or holds it up for seconds to minutes.
  it.each([
    ["brackets that never close", "[".repeat(SIZE), "nested more deeply than 64 levels"],
    ["brackets that close", "[".repeat(SIZE / 2) + "]".repeat(SIZE / 2), "nested more deeply than 64 levels"],
    ["lists in lists on one line", "- ".repeat(SIZE / 2), "beyond column 200"],
    ["keys of keys on one line", "? ".repeat(SIZE / 2), "beyond column 200"],
    ["stairs of blocks", lines(700, (index) => `${" ".repeat(index)}a:`), "beyond column 200"],
    ["lower stairs of blocks", lines(150, (index) => `${" ".repeat(index)}a:`), "deeply than 64 levels"],
    ["brackets that close what was not opened", `{${"}]".repeat(SIZE / 2)}`, "more than 20000 pieces"],
    ["many keys", lines(30_000, (index) => `k${index}: 1`), "more than 20000 pieces"],
    ["many escapes that there are not", `"${"\\x".repeat(SIZE / 2)}"`, "16384 characters in quotes"],
    ["many texts in quotes", lines(16, () => `- "${"\\x".repeat(4000)}"`), "16384 characters in quotes"],
    ["a list that holds itself", "a: &a [*a]", "aliases"],
    ["numbers that JSON does not know", "a: .nan", "not plain data"],
    ["binary data", "a: !!binary aaaa", "not plain data"],
    ["an open bracket", "a: [1", "is not YAML"],
    ["several documents", "a: 1\n---\nb: 2", "is not YAML"],
  ])("refuses %s, and says why", (_what, text, says) => {
    expect(() => parsePlainYaml(text)).toThrow(says);
  });
});
