import { describe, expect, it } from "vitest";
import { JsonCost } from "../../../src/lib/json-cost.js";

function read(text: string, cost = new JsonCost({ maxValues: 5, maxDepth: 2 })): JsonCost {
  cost.addAll(Buffer.from(text));
  return cost;
}

describe("JsonCost", () => {
  it.each(["[[1,2],3]", '{"a":[1,2]}', '["[[[[,,,,,,", "\\"[[[{{{,,,", "\\\\"]', "[[],[]]"])(
    "passes %s, whatever stands in its texts",
    (text) => {
      expect(() => read(text)).not.toThrow();
    },
  );

  it("names the limit of values and that of levels", () => {
    expect(() => read("[1,2,3,4,5]")).toThrow("JSON may hold 5 values; more came.");
    expect(() => read("[[[")).toThrow("JSON may be nested 2 levels deep; more came.");
  });

  it("begins anew with another text, even in the middle of a text in quotes", () => {
    const cost = read('[[1,"\\');
    cost.reset();
    expect(() => read("[[1,2],3]", cost)).not.toThrow();
  });
});
