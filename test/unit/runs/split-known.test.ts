import { describe, expect, it } from "vitest";
import { splitKnown } from "../../../src/runs/split-known.js";

const KNOWN = new Map([
  ["a", { id: "a" }],
  ["b", { id: "b" }],
]);

describe("splitKnown", () => {
  it("keeps the order in which ids are wanted, and counts each once", () => {
    expect(splitKnown(["b", "gone", "a", "b", "gone"], KNOWN)).toEqual({
      found: [{ id: "b" }, { id: "a" }],
      missing: ["gone"],
    });
  });

  it("finds nothing where nothing is wanted", () => {
    expect(splitKnown([], KNOWN)).toEqual({ found: [], missing: [] });
  });
});
