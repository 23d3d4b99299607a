import { describe, expect, it } from "vitest";
import { MAX_JSON_DEPTH, refuseDeepJson } from "../../../src/http/read-json.js";

function nested(levels: number): unknown {
  const text = `${'{"a":['.repeat(levels)}${"]}".repeat(levels)}`;
  const value: unknown = JSON.parse(text);
  return value;
}

describe("refuseDeepJson", () => {
  it("takes JSON up to the limit", () => {
    expect(() => refuseDeepJson(nested(MAX_JSON_DEPTH / 2))).not.toThrow();
    expect(() => refuseDeepJson("text")).not.toThrow();
  });

  it.each([MAX_JSON_DEPTH / 2 + 1, 50_000])(
    "refuses %i nested objects and lists without recursion",
    (levels) => {
      expect(() => refuseDeepJson(nested(levels))).toThrow(/64 levels/);
    },
  );
});
