import { describe, expect, it } from "vitest";
import { readConfig } from "../../../../src/runners/local-agent/config.js";
import { LocalAgentRunner } from "../../../../src/runners/local-agent/local-agent-runner.js";
import { CountingIds } from "../../../fakes/counting-ids.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { ScriptedModel, text } from "../../../fakes/scripted-model.js";
import { proves } from "../../../support/proves.js";
import { textLike } from "../../../support/text-like.js";
import { aModel, runAgent } from "./run-agent.js";

function read(config: Readonly<Record<string, unknown>>, models = [aModel("m1"), aModel("m2")]) {
  return readConfig(config, { models });
}

function modelIds(model: unknown, ...models: Parameters<typeof read>[1][]) {
  return read({ model }, ...models).models.map(({ model_id }) => model_id);
}

describe("models", () => {
  it("keeps authorised ids once, primary first", () => {
    proves("AGENT-01");
    expect(modelIds({ primary: "m1", fallbacks: ["m2", "m1", "x"], reasoning: {} })).toEqual(["m1", "m2"]);
    expect(modelIds({ primary: " m2 ", fallbacks: ["", "__none__", null, " m1"] })).toEqual(["m2", "m1"]);
    expect(modelIds({ primary: "m1" })).toEqual(["m1"]);
  });

  it("uses the fallbacks alone where the primary is not authorised, and nothing at all where nothing is", async () => {
    proves("AGENT-02");
    expect(modelIds({ primary: "x", fallbacks: ["m2"] })).toEqual(["m2"]);
    const run = await runAgent({ config: { model: { primary: "x", fallbacks: ["y"] } } });
    expect(run.types).toEqual(["run.failed"]);
    expect(run.failed.data).toMatchObject({ code: "runner.no_model", retryable: false });
    expect(run.host.modelCalls).toEqual([]);
    expect(run.host.actions).toEqual([]);
  });

  it.each(["m1", 7, null, [], undefined])("reads %o as no model", (model) => {
    expect(modelIds(model)).toEqual([]);
  });

  it("takes language models only", () => {
    expect(modelIds({ primary: "m1", fallbacks: [] }, [aModel("m1", { type: "rerank" })])).toEqual([]);
  });
});

describe("limits", () => {
  it("reads the time limit in seconds, with 0 and null as off", () => {
    proves("AGENT-03");
    for (const timeout of [undefined, -1, true, "12", 1.5]) expect(read({ timeout }).timeoutMs).toBe(300_000);
    for (const timeout of [0, null]) expect(read({ timeout }).timeoutMs).toBeNull();
    expect(read({ timeout: 12 }).timeoutMs).toBe(12_000);
  });

  it("replaces numbers that are none, and counts more than 1000 rounds as 1000", () => {
    proves("AGENT-04");
    const rounds = (value: unknown) => read({ "max-tool-iterations": value }).maxToolIterations;
    expect([0, 2, 1001, true].map(rounds)).toEqual([100, 2, 1000, 100]);
    const chars = (value: unknown) => read({ "max-tool-result-chars": value }).maxToolResultChars;
    expect(["1234", 0, 1234].map(chars)).toEqual([20_000, 20_000, 1234]);
    expect(read({ "context-history-fetch-limit": 0 }).historyFetchLimit).toBe(50);
  });

  it("reads an unknown execution mode as parallel", () => {
    proves("AGENT-05");
    const modes = ["both", true, undefined, "serial"].map((value) => read({ "tool-execution-mode": value }));
    expect(modes.map(({ toolExecutionMode }) => toolExecutionMode)).toEqual([
      "parallel",
      "parallel",
      "parallel",
      "serial",
    ]);
  });

  it("hides thinking for the literal true only", () => {
    proves("AGENT-06");
    const configs = ["true", 1, undefined, true].map((value) => read({ "remove-think": value }));
    expect(configs.map(({ removeThink }) => removeThink)).toEqual([false, false, false, true]);
  });

  it("switches box and date off for the literal false only", () => {
    for (const value of ["false", 0, null, undefined, true]) {
      expect(read({ "box-enabled": value }).boxEnabled).toBe(true);
      expect(read({ "date-grounding": value }).dateGrounding).toBe(true);
    }
    expect(read({ "box-enabled": false, "date-grounding": false })).toMatchObject({
      boxEnabled: false,
      dateGrounding: false,
    });
  });

  it("asks the same whether or not advanced settings are shown", async () => {
    proves("AGENT-13");
    const requests = await Promise.all(
      [true, false].map(async (shown) => {
        using model = new ScriptedModel([text("ok")]);
        await runAgent({ models: { main: model }, config: { "advanced-settings": shown } });
        return model.request();
      }),
    );
    expect(requests[0]).toEqual(requests[1]);
  });
});

describe("before a run", () => {
  const runner = new LocalAgentRunner({ clock: new FakeClock(), ids: new CountingIds() });

  it("refuses access-widening switches that are no booleans, naming them", () => {
    expect(runner.findConfigFaults({ "enable-all-tools": "true" })).toEqual([textLike(/^enable-all-tools /)]);
    expect(
      runner.findConfigFaults({
        "mcp-resource-agent-read-enabled": 1,
        "mcp-resources": [{ enabled: true }, { enabled: 1 }],
      }),
    ).toEqual([textLike(/^mcp-resource-agent-read-enabled /), textLike(/^mcp-resources\[1\]\.enabled /)]);
    expect(
      runner.findConfigFaults({ "enable-all-tools": true, "mcp-resources": [{ enabled: true }] }),
    ).toEqual([]);
    expect(runner.findConfigFaults({})).toEqual([]);
  });

  it("refuses a name that is no setting of any version, naming those that are", () => {
    expect(runner.findConfigFaults({ "max-tool-iteration": 5, timeout: 5, "rerank-model": "" })).toEqual([
      textLike(/^"max-tool-iteration" is no setting of the local agent, which are: .*max-tool-iterations/),
    ]);
  });

  it("plans a box under the template, and none when it is switched off", () => {
    expect(runner.planBox({})).toEqual({ template: "{launcher_type}_{launcher_id}" });
    expect(runner.planBox({ "box-session-id-template": "{sender_id}" })).toEqual({ template: "{sender_id}" });
    expect(runner.planBox({ "box-enabled": false, "box-session-id-template": "x" })).toBeNull();
  });

  it("describes itself in English and Chinese", () => {
    const { descriptor } = runner;
    expect(descriptor).toMatchObject({
      id: "plugin:berth/local-agent/default",
      capabilities: {
        streaming: true,
        tool_calling: true,
        multimodal_input: true,
        interrupt: true,
        steering: true,
      },
      permissions: { models: ["invoke", "stream"], tools: ["detail", "call"], history: ["page"] },
    });
    for (const item of descriptor.config_schema) expect(Object.keys(item.label)).toEqual(["en", "zh"]);
  });
});
