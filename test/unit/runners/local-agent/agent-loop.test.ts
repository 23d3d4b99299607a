import { describe, expect, it } from "vitest";
import { calls, ScriptedModel, text } from "../../../fakes/scripted-model.js";
import { proves } from "../../../support/proves.js";
import { BOTH_MODES, runAgent } from "./run-agent.js";

describe.each(BOTH_MODES)("the loop, $mode", ({ streaming }) => {
  it("answers without tools", async () => {
    using model = new ScriptedModel([text("Hi there")]);
    const run = await runAgent({ streaming, models: { main: model } });
    expect(run.answer).toBe("Hi there");
    expect(run.completed.data).toMatchObject({ finish_reason: "stop", model: "main", tool_rounds: 0 });
    expect(model.modes).toEqual([streaming ? "stream" : "complete"]);
  });

  it("runs a call and answers with its result", async () => {
    proves("LOOP-01");
    using model = new ScriptedModel([
      calls([{ id: "c1", name: "look", arguments: { at: "x" } }]),
      text("It is y."),
    ]);
    const run = await runAgent({ streaming, models: { main: model }, tools: { look: { run: () => "y" } } });
    expect(run.sentAfterUser(1)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: '{"at":"x"}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: "y" },
    ]);
    expect(run.answer).toBe("It is y.");
    expect(run.completed.data.tool_rounds).toBe(1);
  });
});
