import { describe, expect, it } from "vitest";
import { resolveBindingConfig } from "../../../src/domain/binding-config.js";
import { findBindingFaults } from "../../../src/domain/check-binding.js";
import { savedBinding } from "../../../src/domain/save-binding.js";
import { LOCAL_AGENT } from "../../support/builders.js";

const CONFIG = { timeout: 12 };
const OTHER = "plugin:alice/echo/default";
const OLD = { ai: { runner: { runner: "local-agent", "expire-time": 60 }, "local-agent": CONFIG } };
const NEW = { runner: { id: LOCAL_AGENT }, runner_config: { [LOCAL_AGENT]: CONFIG, [OTHER]: { a: 1 } } };

describe("savedBinding", () => {
  it("writes the new and the old key while older versions are to read it", () => {
    expect(savedBinding(NEW, true)).toEqual({
      ai: {
        runner: { id: LOCAL_AGENT, runner: "local-agent" },
        runner_config: { [LOCAL_AGENT]: CONFIG, [OTHER]: { a: 1 } },
        "local-agent": CONFIG,
      },
    });
  });

  it("writes only the new key otherwise, and keeps what else stands there", () => {
    expect(savedBinding(OLD, false)).toEqual({
      runner: { id: "builtin:local-agent", "expire-time": 60 },
      runner_config: { "builtin:local-agent": CONFIG },
    });
  });

  it("gives a runner without an old name no old key", () => {
    const binding = { runner: { id: OTHER }, runner_config: { [OTHER]: CONFIG } };
    expect(savedBinding(binding, true)).toEqual({ ai: binding });
  });

  it("selects no runner in a fresh binding", () => {
    expect(savedBinding({}, false)).toEqual({ runner: {}, runner_config: {} });
    expect(resolveBindingConfig(savedBinding({}, true)).runnerId).toBeNull();
  });

  it("keeps blocks of runners that are not selected", () => {
    const ai = { ...OLD.ai, "coze-api": { b: 2 } };
    expect(savedBinding({ ai }, true)).toMatchObject({ ai: { "coze-api": { b: 2 } } });
  });

  it.each([OLD, NEW])("writes what reads as the same binding and has no fault: %j", (binding) => {
    for (const legacy of [true, false]) {
      const saved = savedBinding(binding, legacy);
      expect(findBindingFaults(saved)).toEqual([]);
      const { runnerId, config, expireSec } = resolveBindingConfig(binding);
      expect(resolveBindingConfig(saved)).toMatchObject({ runnerId, config, expireSec, configSource: "id" });
      expect(savedBinding(saved, legacy)).toEqual(saved);
    }
  });
});
