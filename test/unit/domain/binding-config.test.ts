import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readExpireTime, resolveBindingConfig, selectedEntry } from "../../../src/domain/binding-config.js";
import { LOCAL_AGENT } from "../../support/builders.js";
import { proves } from "../../support/proves.js";

const CONFIG = { timeout: 12 };

function read(runner: object): number {
  return resolveBindingConfig({ ai: { runner } }).expireSec;
}

describe("resolveBindingConfig", () => {
  it("gives the runner of ai.runner.id and exactly its entry", () => {
    proves("CONF-01");
    const ai = { runner: { id: LOCAL_AGENT }, runner_config: { other: {}, [LOCAL_AGENT]: CONFIG } };
    const resolved = resolveBindingConfig({ ai });
    expect(resolved).toMatchObject({ runnerId: LOCAL_AGENT, configSource: "id", warnings: [] });
    expect(resolved.config).toBe(CONFIG);
  });

  it("reads the same without ai, as it stands in a pipeline", () => {
    const resolved = resolveBindingConfig({
      runner: { id: LOCAL_AGENT },
      runner_config: { [LOCAL_AGENT]: CONFIG },
    });
    expect(resolved).toMatchObject({ runnerId: LOCAL_AGENT, config: CONFIG, configSource: "id" });
  });

  it("gives the local agent with its old block where only old keys stand", () => {
    proves("CONF-02");
    const ai = { runner: { runner: "local-agent" }, "local-agent": CONFIG, "coze-api": { a: 1 } };
    const resolved = resolveBindingConfig({ ai });
    expect(resolved).toMatchObject({ runnerId: "builtin:local-agent", configSource: "legacy", warnings: [] });
    expect(resolved.config).toBe(CONFIG);
  });

  it.each([
    {},
    { ai: {} },
    { ai: { runner: {} } },
    { ai: { runner: { id: "" } } },
    { ai: { runner: { id: 5, runner: null } } },
    { ai: null },
    { runner: "local-agent" },
    null,
    "local-agent",
    [],
  ])("finds no runner in %j, and that is no error", (binding) => {
    proves("CONF-03");
    expect(resolveBindingConfig(binding)).toEqual({
      runnerId: null,
      config: {},
      configSource: "none",
      expireSec: 0,
      warnings: [],
    });
  });

  it("lets the id count where both keys name a runner, and says so", () => {
    const ai = { runner: { id: "plugin:a/b/c", runner: "local-agent" }, "local-agent": CONFIG };
    expect(resolveBindingConfig({ ai })).toMatchObject({
      runnerId: "plugin:a/b/c",
      config: {},
      configSource: "none",
      warnings: [
        {
          code: "binding.runner_differs",
          message: 'runner.id says "plugin:a/b/c" and runner.runner says "local-agent"; runner.id counts.',
        },
      ],
    });
  });

  it("finds no difference between two names of one runner", () => {
    expect(resolveBindingConfig({ runner: { id: LOCAL_AGENT, runner: "local-agent" } }).warnings).toEqual([]);
  });

  it("takes an old name that nobody knows as it is, so that its look-up can name it", () => {
    expect(resolveBindingConfig({ runner: { runner: "my-runner" } }).runnerId).toBe("my-runner");
  });

  it("finds the config under the id as written before any other name", () => {
    const runner_config = {
      "local-agent": { a: 1 },
      [LOCAL_AGENT]: { a: 2 },
      "builtin:local-agent": { a: 3 },
    };
    expect(resolveBindingConfig({ runner: { id: "local-agent" }, runner_config })).toMatchObject({
      config: { a: 1 },
      configSource: "id",
    });
  });

  it.each([
    [{ [LOCAL_AGENT]: { a: 2 }, "local-agent": { a: 3 } }],
    [{ "local-agent": { a: 2 } }],
    [{ "plugin:langbot-team/LocalAgent/default": { a: 2 } }],
  ])("then under the canonical id, then under the other aliases: %j", (runner_config) => {
    expect(resolveBindingConfig({ runner: { id: "builtin:local-agent" }, runner_config })).toMatchObject({
      config: { a: 2 },
      configSource: "alias",
    });
  });

  it("takes the old block only where runner_config has no entry", () => {
    const ai = { runner: { id: LOCAL_AGENT }, "local-agent": { a: 1 } };
    expect(resolveBindingConfig({ ai })).toMatchObject({ config: { a: 1 }, configSource: "legacy" });
    const runner_config = { [LOCAL_AGENT]: {} };
    expect(resolveBindingConfig({ ai: { ...ai, runner_config } })).toMatchObject({
      config: {},
      configSource: "id",
    });
  });

  it("gives an empty config where there is none", () => {
    expect(resolveBindingConfig({ runner: { id: LOCAL_AGENT } })).toMatchObject({
      config: {},
      configSource: "none",
    });
  });

  it("takes no name of the language for an entry", () => {
    const runner = { id: "constructor" };
    expect(resolveBindingConfig({ runner, runner_config: {} }).configSource).toBe("none");
  });

  it("reads whatever was written without throwing", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (binding) => {
        const { runnerId, config } = resolveBindingConfig(binding);
        expect(runnerId === null || runnerId !== "").toBe(true);
        expect(typeof config).toBe("object");
      }),
    );
  });
});

describe("expire-time", () => {
  it("is 0 unless it is a whole number of seconds from 0 on", () => {
    proves("CONF-06");
    expect(read({})).toBe(0);
    expect(read({ "expire-time": 0 })).toBe(0);
    expect(read({ "expire-time": 3600 })).toBe(3600);
  });

  it.each([null, -1, 1.5, "3600", true, [], {}, Number.NaN, Infinity, 2 ** 60])("reads %j as 0", (value) => {
    expect(readExpireTime(value)).toBe(0);
  });
});

describe("selectedEntry", () => {
  it("names the place of the config that counts", () => {
    const runner_config = { "local-agent": CONFIG };
    expect(selectedEntry({ runner: { id: LOCAL_AGENT }, runner_config })).toEqual({
      path: ["runner_config", "local-agent"],
      config: CONFIG,
    });
    const ai = { runner: { runner: "local-agent" }, "local-agent": CONFIG };
    expect(selectedEntry({ ai })).toEqual({ path: ["ai", "local-agent"], config: CONFIG });
  });

  it.each([{}, { runner: { id: LOCAL_AGENT } }])("finds none in %j", (binding) => {
    expect(selectedEntry(binding)).toBeNull();
  });
});
