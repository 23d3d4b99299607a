import { describe, expect, it } from "vitest";
import { mayReadResources } from "../../../src/runs/mcp-reading.js";

const READER = { source_id: "docs", reads_resources: true } as const;

describe("mayReadResources", () => {
  it("asks nothing of tools that read no resources", () => {
    const config = { "mcp-resource-agent-read-enabled": false };
    expect(mayReadResources(config, { source_id: "docs" })).toBe(true);
  });

  it.each([
    [{ server: "docs", enabled: true }, true],
    [{ server: "docs", enabled: false }, false],
    [{ server_name: "docs", enabled: 1 }, false],
    [{ server_id: "docs" }, false],
    [{ server_uuid: "docs", enabled: "true" }, false],
    [{ server: "web", enabled: false }, true],
    [{ enabled: false }, true],
    ["docs", true],
    [null, true],
  ])("reads the entry %j as %j for its server", (entry, expected) => {
    expect(mayReadResources({ "mcp-resources": [entry] }, READER)).toBe(expected);
  });

  it("takes a list that is none for no list", () => {
    expect(mayReadResources({ "mcp-resources": { server: "docs", enabled: false } }, READER)).toBe(true);
  });

  it("gives nothing back that the switch for all has taken", () => {
    const config = {
      "mcp-resource-agent-read-enabled": false,
      "mcp-resources": [{ server: "docs", enabled: true }],
    };
    expect(mayReadResources(config, READER)).toBe(false);
  });
});
