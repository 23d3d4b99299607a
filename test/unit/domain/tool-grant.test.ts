import { describe, expect, it } from "vitest";
import { grantsTool, isSameSource, parseToolGrant } from "../../../src/domain/tool-grant.js";

const TOOL = { source: "mcp", source_id: "docs", tool_name: "find" };

describe("parseToolGrant", () => {
  it.each([
    ["find", { ref: null, name: "find" }],
    ["mcp:docs/find", { ref: { source: "mcp", source_id: "docs" }, name: "find" }],
    ["mcp:docs/*", { ref: { source: "mcp", source_id: "docs" }, name: "*" }],
    ["plugin:alice/calc/add", { ref: { source: "plugin", source_id: "alice/calc" }, name: "add" }],
    ["ftp:docs/find", { ref: null, name: "ftp:docs/find" }],
    ["mcp:docs", { ref: null, name: "mcp:docs" }],
  ])("reads %j", (text, grant) => {
    expect(parseToolGrant(text)).toEqual(grant);
  });
});

describe("grantsTool", () => {
  it.each([
    ["find", true],
    ["mcp:docs/find", true],
    ["mcp:docs/*", true],
    ["*", false],
    ["mcp:web/find", false],
    ["plugin:docs/find", false],
    ["mcp:docs/fetch", false],
  ])("%j: %j", (text, expected) => {
    expect(grantsTool(parseToolGrant(text), TOOL)).toBe(expected);
  });
});

describe("isSameSource", () => {
  it("needs both parts to be equal", () => {
    expect(isSameSource(TOOL, { source: "mcp", source_id: "docs" })).toBe(true);
    expect(isSameSource(TOOL, { source: "plugin", source_id: "docs" })).toBe(false);
    expect(isSameSource(TOOL, { source: "mcp", source_id: "web" })).toBe(false);
  });
});
