import { describe, expect, it } from "vitest";
import { findBindingFaults } from "../../../src/domain/check-binding.js";
import { LOCAL_AGENT } from "../../support/builders.js";
import { proves } from "../../support/proves.js";

const OTHER = "plugin:alice/echo/default";

function bound(config: unknown, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { runner: { id: LOCAL_AGENT }, runner_config: { [LOCAL_AGENT]: config, ...more } };
}

function withEnabled(enabled: unknown): Record<string, unknown> {
  return bound({ "mcp-resources": [{ uri: "a", enabled }] });
}

describe("findBindingFaults", () => {
  it.each([
    {},
    bound({}),
    { ai: bound({ "enable-all-tools": true }) },
    { ai: { runner: { runner: "local-agent" }, "local-agent": {} } },
    { runner: { id: "local-agent" }, runner_config: { [LOCAL_AGENT]: {} } },
  ])("finds nothing wrong in %j", (binding) => {
    expect(findBindingFaults(binding)).toEqual([]);
  });

  it.each([
    [null, []],
    ["local-agent", []],
    [[], []],
    [{ ai: [] }, ["ai"]],
    [{ runner: "local-agent" }, ["runner"]],
    [{ ai: { runner: null } }, ["ai", "runner"]],
    [{ runner: { id: 5 } }, ["runner", "id"]],
    [{ runner_config: [] }, ["runner_config"]],
    [{ runner_config: { "": {} } }, ["runner_config"]],
    [{ runner_config: { [OTHER]: null } }, ["runner_config", OTHER]],
    [{ runner: { id: LOCAL_AGENT } }, ["runner_config"]],
    [{ runner: { id: LOCAL_AGENT }, runner_config: { [OTHER]: {} } }, ["runner_config"]],
    [{ ai: { runner: { runner: "coze-api" }, "local-agent": {} } }, ["ai", "runner_config"]],
  ])("names the place in %j", (binding, path) => {
    expect(findBindingFaults(binding)).toMatchObject([{ path }]);
  });

  it("refuses a text in place of a boolean that lets a runner use every tool", () => {
    proves("CONF-04");
    expect(findBindingFaults(bound({ "enable-all-tools": "true" }))).toEqual([
      {
        path: ["runner_config", LOCAL_AGENT],
        found: "a switch that is no boolean",
        allowed: 'enable-all-tools must be true or false, but "true" was given',
      },
    ]);
  });

  it("refuses a number that switches a resource on, and takes a boolean", () => {
    proves("CONF-05");
    expect(findBindingFaults(withEnabled(1))).toMatchObject([
      { allowed: "mcp-resources[0].enabled must be true or false, but 1 was given" },
    ]);
    expect(findBindingFaults(withEnabled(true))).toEqual([]);
  });

  it("looks at the switches of an old block as well", () => {
    const ai = { runner: { runner: "local-agent" }, "local-agent": { "enable-all-tools": 1 } };
    expect(findBindingFaults({ ai })).toMatchObject([{ path: ["ai", "local-agent"] }]);
  });

  it("does not look into the blocks of runners that are not selected", () => {
    expect(findBindingFaults(bound({}, { [OTHER]: { "enable-all-tools": "true" } }))).toEqual([]);
  });
});
