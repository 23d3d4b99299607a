import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  canonicalRunnerId,
  formatRunnerId,
  isPluginRunnerId,
  LEGACY_RUNNER_NAMES,
  parseRunnerId,
  pluginIdOf,
  type RunnerId,
  runnerAliases,
} from "../../../src/domain/runner-id.js";
import { proves } from "../../support/proves.js";

const part = fc.stringMatching(/^[A-Za-z0-9._-]{1,12}$/);
const LOCAL_AGENT = "plugin:berth/local-agent/default";

describe("parseRunnerId", () => {
  it("gives author, plugin and runner, and formatting gives the same text back", () => {
    proves("REG-01");
    const id = parseRunnerId("plugin:alice/my-agent/default");
    expect(id).toEqual({ source: "plugin", author: "alice", plugin: "my-agent", runner: "default" });
    expect(formatRunnerId(id)).toBe("plugin:alice/my-agent/default");
  });

  it.each([
    "plugin:alice/my-agent",
    "plugin:alice//default",
    "plugin:/my-agent/default",
    "plugin:alice/my-agent/",
  ])("refuses two parts and empty parts: %s", (text) => {
    proves("REG-02");
    expect(() => parseRunnerId(text)).toThrow(expect.objectContaining({ code: "request.invalid" }));
  });

  it("refuses four parts", () => {
    proves("REG-03");
    expect(() => parseRunnerId("plugin:a/b/c/d")).toThrow(
      expect.objectContaining({ code: "request.invalid" }),
    );
  });

  it.each([
    "",
    "plugin:",
    "builtin:",
    "builtin:a/b",
    "local-agent",
    "Plugin:a/b/c",
    "plugin:a b/c/d",
    "builtin:a b",
  ])("refuses %j and names it", (text) => {
    expect(() => parseRunnerId(text)).toThrow(`"${text}" is not a runner id.`);
  });

  it("keeps case and every legal sign of a part", () => {
    fc.assert(
      fc.property(part, part, part, (author, plugin, runner) => {
        const text = `plugin:${author}/${plugin}/${runner}`;
        expect(parseRunnerId(text)).toEqual({ source: "plugin", author, plugin, runner });
        expect(formatRunnerId(parseRunnerId(text))).toBe(text);
        expect(pluginIdOf(text)).toBe(`${author}/${plugin}`);
      }),
    );
  });

  it.each(["plugin:a/b/c", "builtin:local-agent"])("gives an id that cannot be changed: %s", (text) => {
    expect(Object.isFrozen(parseRunnerId(text))).toBe(true);
  });
});

describe("formatRunnerId", () => {
  it("formats builtin ids", () => {
    expect(formatRunnerId(parseRunnerId("builtin:dify-service-api"))).toBe("builtin:dify-service-api");
  });

  it("refuses an unknown source kind", () => {
    proves("REG-04");
    const unknown = z.custom<RunnerId>().parse({ source: "remote", name: "x" });
    expect(() => formatRunnerId(unknown)).toThrow(expect.objectContaining({ code: "request.invalid" }));
  });
});

describe("isPluginRunnerId", () => {
  it("is true for the canonical form only and never throws", () => {
    expect(isPluginRunnerId("plugin:a/b/c")).toBe(true);
    expect(isPluginRunnerId("builtin:local-agent")).toBe(false);
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(isPluginRunnerId(text)).toBe(/^plugin:[^\s/]+\/[^\s/]+\/[^\s/]+$/.test(text));
      }),
    );
  });
});

describe("pluginIdOf", () => {
  it.each(["builtin:local-agent", "local-agent", ""])("throws for %j", (text) => {
    expect(() => pluginIdOf(text)).toThrow(expect.objectContaining({ code: "request.invalid" }));
  });
});

describe("the names of one runner", () => {
  it.each(LEGACY_RUNNER_NAMES)("finds %s under its bare, builtin and plugin name", (name) => {
    const canonical = `plugin:berth/${name}/default`;
    for (const alias of [name, `builtin:${name}`, canonical]) {
      expect(canonicalRunnerId(alias)).toBe(canonical);
      expect(runnerAliases(alias)[0]).toBe(canonical);
      expect(runnerAliases(alias)).toEqual(expect.arrayContaining([name, `builtin:${name}`]));
    }
  });

  it("finds the local agent under the name of imported configurations", () => {
    expect(canonicalRunnerId("plugin:langbot-team/LocalAgent/default")).toBe(LOCAL_AGENT);
    expect(runnerAliases(LOCAL_AGENT)).toEqual([
      LOCAL_AGENT,
      "builtin:local-agent",
      "local-agent",
      "plugin:langbot-team/LocalAgent/default",
    ]);
  });

  it.each(["plugin:alice/my-agent/default", "unknown", "builtin:unknown", ""])(
    "leaves %j as it is",
    (text) => {
      expect(canonicalRunnerId(text)).toBe(text);
      expect(runnerAliases(text)).toEqual([text]);
    },
  );
});
