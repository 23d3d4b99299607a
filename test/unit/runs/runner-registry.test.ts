import { describe, expect, it } from "vitest";
import { RunnerRegistry } from "../../../src/runs/runner-registry.js";
import { ScriptedRunner } from "../../fakes/scripted-runner.js";
import { aDescriptor, LOCAL_AGENT } from "../../support/builders.js";

describe("RunnerRegistry", () => {
  const localAgent = new ScriptedRunner({ descriptor: aDescriptor() });
  const other = new ScriptedRunner({ descriptor: aDescriptor({ name: "other" }) });
  const registry = new RunnerRegistry([localAgent, other]);

  it("finds a runner by its canonical id", () => {
    expect(registry.get("plugin:berth/other/default")).toBe(other);
  });

  it.each([LOCAL_AGENT, "builtin:local-agent", "local-agent", "plugin:langbot-team/LocalAgent/default"])(
    "finds the local agent under %s",
    (id) => {
      expect(registry.get(id)).toBe(localAgent);
    },
  );

  it.each(["plugin:berth/missing/default", "no id at all", "", "constructor"])(
    "answers that the runner is not found, with the text in it: %o",
    (id) => {
      expect(() => registry.get(id)).toThrow(
        expect.objectContaining({ code: "runner.not_found", message: `There is no runner "${id}".` }),
      );
    },
  );

  it("names the runners there are", () => {
    expect(() => registry.get("x")).toThrow(
      expect.objectContaining({ hint: `Use one of: ${LOCAL_AGENT}, plugin:berth/other/default.` }),
    );
  });
});
