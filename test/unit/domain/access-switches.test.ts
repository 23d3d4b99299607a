import { describe, expect, it } from "vitest";
import { findAccessFaults, isSwitchedOn } from "../../../src/domain/access-switches.js";

describe("switches that widen access", () => {
  it.each(["true", 1, null, {}, []])("refuses %j in place of a boolean", (value) => {
    expect(findAccessFaults({ "enable-all-tools": value })).toHaveLength(1);
    expect(findAccessFaults({ "mcp-resource-agent-read-enabled": value })).toHaveLength(1);
    expect(findAccessFaults({ "mcp-resources": [{ enabled: true }, { enabled: value }] })).toEqual([
      `mcp-resources[1].enabled must be true or false, but ${JSON.stringify(value)} was given.`,
    ]);
  });

  it.each([{}, { "enable-all-tools": false }, { "mcp-resources": [{ enabled: true }, {}, null, "x"] }])(
    "finds nothing wrong in %j",
    (config) => {
      expect(findAccessFaults(config)).toEqual([]);
    },
  );

  it("takes no list of resources that is none", () => {
    expect(findAccessFaults({ "mcp-resources": "all" })).toEqual([]);
  });

  it.each([
    [true, true],
    [false, false],
    ["true", false],
    [1, false],
    [undefined, false],
  ])("counts %j at run as %j", (value, isOn) => {
    expect(isSwitchedOn({ "enable-all-tools": value }, "enable-all-tools")).toBe(isOn);
  });
});
