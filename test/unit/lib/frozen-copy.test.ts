import { describe, expect, it } from "vitest";
import { frozenCopy } from "../../../src/lib/frozen-copy.js";

describe("frozenCopy", () => {
  it("keeps its content when the original is changed later", () => {
    const original = { list: [{ name: "a" }] };
    const copy = frozenCopy(original);
    original.list[0] = { name: "b" };
    expect(copy).toEqual({ list: [{ name: "a" }] });
  });

  it("refuses changes at every depth", () => {
    const copy = frozenCopy({ list: [{ name: "a" }] });
    expect(() => copy.list.push({ name: "b" })).toThrow(TypeError);
    expect(() => Object.assign(copy.list[0] ?? {}, { name: "b" })).toThrow(TypeError);
  });

  it("leaves the original open", () => {
    const original = { list: ["a"] };
    frozenCopy(original);
    original.list.push("b");
    expect(original.list).toEqual(["a", "b"]);
  });

  it.each([null, 1, "text", true])("gives back %o, which cannot change anyway", (value) => {
    expect(frozenCopy(value)).toBe(value);
  });
});
