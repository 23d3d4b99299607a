import { describe, expect, it } from "vitest";
import { bundledRunners } from "../../../../src/runners/index.js";
import { describeRunner } from "../../../contracts/runner.js";
import { CountingIds } from "../../../fakes/counting-ids.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { FakeRunHost } from "../../../fakes/fake-run-host.js";
import { calls, failure, hanging, ScriptedModel, type Step, text } from "../../../fakes/scripted-model.js";
import { contextOf } from "./run-agent.js";

function localAgent() {
  const [runner] = bundledRunners({ clock: new FakeClock(), ids: new CountingIds() });
  if (runner === undefined) throw new Error("No runner ships with the service.");
  return runner;
}

function prepare(steps: readonly Step[], runId: `run_${string}` = "run_1") {
  const setup = { models: { main: new ScriptedModel(steps) }, tools: { look: {} }, runId };
  const host = new FakeRunHost(setup);
  return { host, context: contextOf(setup, host, new FakeClock()) };
}

describeRunner("local agent", () => ({
  runner: localAgent(),
  answering: (answer, runId) => prepare([calls([{ name: "look" }]), text(answer)], runId),
  hanging: () => prepare([hanging()]),
  failing: () => prepare([failure("model.request_refused")]),
}));

describe("what ships with the service", () => {
  it("is the local agent", () => {
    expect(localAgent().descriptor.id).toBe("plugin:berth/local-agent/default");
  });
});
