import { describe, expect, it } from "vitest";
import { isEmptySelection } from "../../../src/domain/selector-values.js";

describe("isEmptySelection", () => {
  it.each(["", "__none__", null])("takes %j for nothing selected", (value) => {
    expect(isEmptySelection(value)).toBe(true);
  });

  it.each([" ", "none", "main", 0, false, undefined, []])("takes %j for a value", (value) => {
    expect(isEmptySelection(value)).toBe(false);
  });
});
