import { describe, expect, it } from "vitest";
import { CONTROL_NAMES, CONTROL_STATES } from "../../../src/domain/box-control.js";

describe("controls of a box", () => {
  it("have names of their own, in words that a status can show", () => {
    expect(new Set(CONTROL_NAMES).size).toBe(CONTROL_NAMES.length);
    for (const name of CONTROL_NAMES) expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });

  it("are in force, not in force, or neither is known", () => {
    expect(CONTROL_STATES).toEqual(["enforced", "ignored", "unknown"]);
  });
});
