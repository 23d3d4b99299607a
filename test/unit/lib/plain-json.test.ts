import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlainJson } from "../../../src/lib/plain-json.js";

describe("isPlainJson", () => {
  it("takes everything that JSON can hold", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => isPlainJson(value, 64)));
    expect(isPlainJson(Object.assign(Object.create(null), { a: 1 }), 1)).toBe(true);
  });

  it.each([undefined, Number.NaN, Infinity, 1n, Symbol("s"), new Date(0), new Map(), /x/, () => 1])(
    "refuses %o, also deep inside",
    (value) => {
      expect(isPlainJson(value, 9)).toBe(false);
      expect(isPlainJson({ list: [{ value }] }, 9)).toBe(false);
    },
  );

  it("refuses what is nested more deeply than it may be", () => {
    expect(isPlainJson([[1]], 2)).toBe(true);
    expect(isPlainJson([[[]]], 2)).toBe(false);
  });
});
