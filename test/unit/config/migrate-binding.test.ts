import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MigrateOptions, migrateBinding } from "../../../src/config/migrate-binding.js";
import { resolveBindingConfig } from "../../../src/domain/binding-config.js";
import { findBindingFaults } from "../../../src/domain/check-binding.js";
import { LOCAL_AGENT } from "../../support/builders.js";

const CONFIRMED: MigrateOptions = { confirmed: true, writeLegacyKeys: false };
const OLD = {
  id: "default",
  ai: { runner: { runner: "local-agent", "expire-time": 60 }, "local-agent": { model: "main" } },
  output: { misc: { "remove-think": true } },
};
const MODEL = { primary: "main", fallbacks: [], reasoning: {} };
const CONFIG = { model: MODEL, "remove-think": true, "tool-execution-mode": "serial" };

describe("migrateBinding", () => {
  it("writes an old binding in the form of today, and keeps the old one", () => {
    const before = structuredClone(OLD);
    expect(migrateBinding(OLD, CONFIRMED)).toMatchObject({
      kind: "migrated",
      binding: {
        id: "default",
        runner: { id: LOCAL_AGENT, "expire-time": 60 },
        runner_config: { [LOCAL_AGENT]: CONFIG },
      },
      backup: before,
    });
    expect(OLD).toEqual(before);
  });

  it("writes the old keys beside the new ones where older versions read them", () => {
    const migration = migrateBinding(OLD, { ...CONFIRMED, writeLegacyKeys: true });
    expect(migration).toMatchObject({
      binding: {
        id: "default",
        ai: {
          runner: { id: LOCAL_AGENT, runner: "local-agent" },
          runner_config: { [LOCAL_AGENT]: CONFIG },
          "local-agent": CONFIG,
        },
      },
    });
  });

  it("only says what would change before somebody confirms", () => {
    const proposed = migrateBinding(OLD, { ...CONFIRMED, confirmed: false });
    expect(proposed.kind).toBe("proposed");
    const { changes, warnings, binding } = { changes: [], warnings: [], binding: null, ...proposed };
    expect(changes).toHaveLength(5);
    expect(warnings).toHaveLength(1);
    expect(migrateBinding(OLD, CONFIRMED)).toMatchObject({ changes, warnings, binding });
  });

  it("stops before a box template of its own, confirmed or not, and goes on once it is decided", () => {
    const ai = { ...OLD.ai, "local-agent": { "box-session-id-template": "{sender_id}" } };
    expect(migrateBinding({ ai }, CONFIRMED)).toMatchObject({ kind: "stopped" });
    expect(migrateBinding({ ai }, { ...CONFIRMED, confirmed: false })).toMatchObject({ kind: "stopped" });
    expect(migrateBinding({ ai }, { ...CONFIRMED, template: "keep" })).toMatchObject({
      binding: { runner_config: { [LOCAL_AGENT]: { "box-session-id-template": "{sender_id}" } } },
    });
  });

  it.each([
    null,
    "text",
    {},
    { ai: {} },
    { runner: { id: LOCAL_AGENT }, runner_config: { [LOCAL_AGENT]: { timeout: 5 } } },
    { runner: { id: "plugin:a/b/c" }, runner_config: { "plugin:a/b/c": { model: "main" } } },
    { ai: { runner: { id: LOCAL_AGENT, runner: "local-agent" }, runner_config: { [LOCAL_AGENT]: {} } } },
  ])("has nothing to change in %j", (binding) => {
    expect(migrateBinding(binding, CONFIRMED)).toEqual({ kind: "unchanged" });
  });

  it("moves the config of another host's agent, and leaves its other runners", () => {
    const imported = "plugin:langbot-team/LocalAgent/default";
    const runner_config = { [imported]: { timeout: 5 }, "plugin:a/b/c": { x: 1 } };
    expect(migrateBinding({ ai: { runner: { id: imported }, runner_config } }, CONFIRMED)).toMatchObject({
      binding: {
        runner: { id: LOCAL_AGENT },
        runner_config: {
          [LOCAL_AGENT]: { timeout: 5, "tool-execution-mode": "serial" },
          "plugin:a/b/c": { x: 1 },
        },
      },
    });
  });

  it("gives another old runner its id, and leaves its config", () => {
    const ai = { runner: { runner: "coze-api" }, "coze-api": { model: "bot", "max-round": 3 } };
    const id = "plugin:berth/coze-api/default";
    expect(migrateBinding({ ai }, CONFIRMED)).toMatchObject({
      binding: { runner: { id }, runner_config: { [id]: { model: "bot", "max-round": 3 } } },
    });
  });

  it("leaves what else the output section holds", () => {
    const output = { dingtalk: { on: true }, "remove-think": "yes" };
    const migration = migrateBinding({ ...OLD, output }, CONFIRMED);
    expect(migration).toMatchObject({ binding: { output: { dingtalk: { on: true } } } });
    expect(JSON.stringify(migration)).toContain("is no boolean, so it is not copied");
  });

  it("makes the handling of errors in the output section a setting of the pipeline, unless it has one", () => {
    const output = { misc: { "exception-handling": "hide", "at-sender": true } };
    const entry = { ...OLD, output };
    const left = { output: { misc: { "at-sender": true } } };
    expect(migrateBinding(entry, CONFIRMED)).toMatchObject({
      binding: { "exception-handling": "hide", ...left },
    });
    expect(migrateBinding({ ...entry, "exception-handling": "show-error" }, CONFIRMED)).toMatchObject({
      binding: { "exception-handling": "show-error", ...left },
    });
  });

  it("names a handling of errors that there is not, and leaves the default", () => {
    const migration = migrateBinding({ ...OLD, output: { "exception-handling": "shout" } }, CONFIRMED);
    expect(migration).toMatchObject({ kind: "migrated" });
    expect(migration).not.toHaveProperty(["binding", "exception-handling"]);
    expect(migration).not.toHaveProperty(["binding", "output"]);
    expect(JSON.stringify(migration)).toContain("is none of show-error, show-hint, hide: the default counts");
  });

  it("writes what has no fault, reads as the same runner, and has nothing left to migrate", () => {
    const value = fc.oneof(fc.constantFrom(null, "", "main", 3, true), fc.constant(["a"]));
    const key = fc.constantFrom("model", "knowledge-base", "knowledge-bases", "max-round", "timeout");
    fc.assert(
      fc.property(fc.dictionary(key, value), fc.boolean(), (config, writeLegacyKeys) => {
        const ai = { runner: { runner: "local-agent" }, "local-agent": config };
        const migration = migrateBinding({ ai }, { ...CONFIRMED, writeLegacyKeys });
        const binding = migration.kind === "migrated" ? migration.binding : null;
        expect(findBindingFaults(binding)).toEqual([]);
        expect(resolveBindingConfig(binding)).toMatchObject({ runnerId: LOCAL_AGENT, configSource: "id" });
        expect(migrateBinding(binding, { ...CONFIRMED, writeLegacyKeys })).toEqual({ kind: "unchanged" });
      }),
    );
  });
});
