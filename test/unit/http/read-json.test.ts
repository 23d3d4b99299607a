import { describe, expect, it } from "vitest";
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, refuseCostlyJson } from "../../../src/http/read-json.js";

function refuse(text: string): void {
  refuseCostlyJson(Buffer.from(text));
}

function nested(levels: number): string {
  return `${"[".repeat(levels)}1${"]".repeat(levels)}`;
}

function listOf(values: number, value = "1"): string {
  return `[${`${value},`.repeat(values - 1)}${value}]`;
}

describe("refuseCostlyJson", () => {
  it("takes what is as deep and as many as may be", () => {
    expect(() => refuse(nested(MAX_JSON_DEPTH))).not.toThrow();
    expect(() => refuse(listOf(MAX_JSON_VALUES - 1))).not.toThrow();
    expect(() => refuse('"text"')).not.toThrow();
    expect(() => refuse("")).not.toThrow();
  });

  it.each([MAX_JSON_DEPTH + 1, 100_000])("refuses %i levels without recursion", (levels) => {
    expect(() => refuse(nested(levels))).toThrow(/64 levels/);
    expect(() => refuse('{"a":'.repeat(levels))).toThrow(/64 levels/);
  });

  it.each(["1", "[]", "{}", '"a"', '{"a":1}', "[ ]\n"])("refuses a list of too many %s", (value) => {
    expect(() => refuse(listOf(MAX_JSON_VALUES + 1, value))).toThrow(/100000 values/);
  });

  it("counts fields of objects as values", () => {
    const fields = Array.from({ length: MAX_JSON_VALUES + 1 }, (_, index) => `"k${index}":1`);
    expect(() => refuse(`{${fields.join(",")}}`)).toThrow(/100000 values/);
  });

  it("counts nothing inside texts, whatever quotes and backslashes they hold", () => {
    const inner = `${"[{,".repeat(MAX_JSON_VALUES)}\\\\ " "`;
    expect(() => refuse(JSON.stringify({ inner }))).not.toThrow();
    expect(() => refuse(`["\\\\"${",[]".repeat(MAX_JSON_VALUES)}]`)).toThrow(/values/);
  });
});
