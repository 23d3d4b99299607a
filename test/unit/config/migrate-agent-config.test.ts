import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AgentFacts, migrateAgentConfig } from "../../../src/config/migrate-agent-config.js";

const NEW: AgentFacts = { isOld: false, removeThink: undefined, template: undefined };
const OLD: AgentFacts = { ...NEW, isOld: true };
const TEMPLATE = "box-session-id-template";
const SERIAL = { "tool-execution-mode": "serial" };

type Config = Readonly<Record<string, unknown>>;

function migrated(config: Config, facts: Partial<AgentFacts> = {}): Config {
  return migrateAgentConfig(config, { ...OLD, ...facts }).config;
}

describe("model", () => {
  it.each(["main", "", "__none__"])("as the text %j becomes the primary of a group", (model) => {
    const written = { primary: model, fallbacks: [], reasoning: {} };
    expect(migrated({ model })).toEqual({ model: written, ...SERIAL });
  });

  it.each<[Config]>([[{}], [{ model: null }], [{ model: { primary: "main" } }], [{ model: 5 }]])(
    "stays as it is in %j",
    (config) => {
      expect(migrated(config)).toEqual({ ...config, ...SERIAL });
    },
  );
});

describe("knowledge-base", () => {
  it.each<[Config, Config]>([
    [{ "knowledge-base": "a" }, { "knowledge-bases": ["a"] }],
    [{ "knowledge-base": "a", "knowledge-bases": [] }, { "knowledge-bases": ["a"] }],
    [{ "knowledge-base": "a", "knowledge-bases": null }, { "knowledge-bases": ["a"] }],
    [{ "knowledge-base": "a", "knowledge-bases": ["b", "c"] }, { "knowledge-bases": ["b", "c"] }],
    [{ "knowledge-base": "" }, {}],
    [{ "knowledge-base": "__none__" }, {}],
    [{ "knowledge-base": null }, {}],
    [{ "knowledge-base": null, "knowledge-bases": null }, { "knowledge-bases": null }],
    [{ "knowledge-bases": null }, { "knowledge-bases": null }],
    [{}, {}],
  ])("turns %j into %j", (before, after) => {
    expect(migrated(before)).toEqual({ ...after, ...SERIAL });
  });

  it("is dropped with a warning where it is no text", () => {
    const { config, warnings } = migrateAgentConfig({ "knowledge-base": 5 }, OLD);
    expect(config).toEqual(SERIAL);
    expect(warnings[0]).toBe("knowledge-base is no text, so no knowledge base is taken from it.");
  });
});

describe("max-round", () => {
  it.each([10, "10", 0, null, ""])("is removed as %j, and becomes no other figure", (rounds) => {
    const { config, warnings } = migrateAgentConfig({ "max-round": rounds, timeout: 5 }, OLD);
    expect(config).toEqual({ timeout: 5, ...SERIAL });
    expect(warnings[0]).toMatch(/rounds are not turned into a number of tokens/);
  });
});

describe("remove-think", () => {
  it.each([true, false])("is copied from the output section as the boolean %j", (removeThink) => {
    expect(migrated({}, { removeThink })).toEqual({ "remove-think": removeThink, ...SERIAL });
  });

  it.each(["true", 1, null, "", undefined])("is not copied as %j", (removeThink) => {
    expect(migrated({}, { removeThink })).toEqual(SERIAL);
  });

  it("leaves what the runner's config says itself", () => {
    expect(migrated({ "remove-think": null }, { removeThink: true })).toEqual({
      "remove-think": null,
      ...SERIAL,
    });
  });
});

describe("tool-execution-mode", () => {
  it("is serial for a binding whose tools ran one after another", () => {
    expect(migrated({})).toEqual(SERIAL);
    expect(migrated({ "max-round": 3 }, { isOld: false })).toEqual(SERIAL);
  });

  it("is left to its default in a binding of today", () => {
    expect(migrated({ timeout: 5 }, { isOld: false })).toEqual({ timeout: 5 });
  });

  it.each(["parallel", "serial", null, ""])("stays as %j", (mode) => {
    expect(migrated({ "tool-execution-mode": mode })).toEqual({ "tool-execution-mode": mode });
  });
});

describe("the box template", () => {
  const starts = ["Files are shared anew: boxes of before are not found again, and nothing is moved."];

  it.each<[Config]>([[{}], [{ [TEMPLATE]: "" }], [{ [TEMPLATE]: "{launcher_type}_{launcher_id}" }]])(
    "is not written where it was %j, and the new scope of files is told",
    (config) => {
      expect(migrateAgentConfig(config, OLD)).toMatchObject({ config: SERIAL, warnings: starts, stop: null });
    },
  );

  it("stops the migration where it has a text of its own", () => {
    const { stop } = migrateAgentConfig({ [TEMPLATE]: "{sender_id}" }, OLD);
    expect(stop).toMatch(/Somebody has to decide/);
  });

  it("stays or goes as was decided", () => {
    const config = { [TEMPLATE]: "{sender_id}" };
    expect(migrated(config, { template: "keep" })).toEqual({ ...config, ...SERIAL });
    expect(migrated(config, { template: "drop" })).toEqual(SERIAL);
    expect(migrateAgentConfig(config, { ...OLD, template: "keep" })).toMatchObject({ stop: null });
  });

  it("stays as null, which is neither missing nor empty", () => {
    expect(migrated({ [TEMPLATE]: null })).toEqual({ [TEMPLATE]: null, ...SERIAL });
  });

  it("is nobody's question in a binding of today", () => {
    const config = { [TEMPLATE]: "{sender_id}" };
    expect(migrateAgentConfig(config, NEW)).toEqual({ config, changes: [], warnings: [], stop: null });
  });
});

const anyValue = fc.oneof(
  fc.constantFrom(null, "", "__none__", "main", "{launcher_type}_{launcher_id}", "{sender_id}", 0, 7, true),
  fc.constant([]),
  fc.constant(["a"]),
  fc.constant({ primary: "main" }),
);
const anyConfig = fc.dictionary(
  fc.constantFrom(
    "model",
    "knowledge-base",
    "knowledge-bases",
    "max-round",
    "remove-think",
    "tool-execution-mode",
    TEMPLATE,
    "timeout",
  ),
  anyValue,
);

describe("any config", () => {
  it("loses its old keys, keeps all others, and has nothing left to migrate", () => {
    fc.assert(
      fc.property(anyConfig, fc.boolean(), fc.constantFrom("keep", "drop"), (config, isOld, template) => {
        const { config: after, changes } = migrateAgentConfig(config, { ...NEW, isOld, template });
        expect(Object.keys(after)).not.toContain("knowledge-base");
        expect(Object.keys(after)).not.toContain("max-round");
        expect(typeof after["model"]).not.toBe("string");
        expect(after["timeout"]).toEqual(config["timeout"]);
        expect(changes.length === 0).toBe(JSON.stringify(after) === JSON.stringify(config));
        expect(migrateAgentConfig(after, { ...NEW, template }).changes).toEqual([]);
      }),
    );
  });

  it("is not changed itself", () => {
    fc.assert(
      fc.property(anyConfig, (config) => {
        const before = structuredClone(config);
        migrateAgentConfig(config, OLD);
        expect(config).toEqual(before);
      }),
    );
  });
});
