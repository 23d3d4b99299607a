import { describe, expect, it, vi } from "vitest";
import { ServiceError } from "../../../../src/domain/errors.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { Gate } from "../../../fakes/gate.js";
import {
  after,
  calls,
  chunks,
  hanging,
  type ScriptedCall,
  ScriptedModel,
  text,
} from "../../../fakes/scripted-model.js";
import { proves } from "../../../support/proves.js";
import { aModel, BOTH_MODES, runAgent, startAgent, textWith } from "./run-agent.js";

const PATH_INPUT = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const usage = (prompt: number, completion: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});

/** A model that asks for the same calls in every reply. */
function always(count: number, wanted: readonly ScriptedCall[]) {
  return Array.from({ length: count }, () => calls(wanted));
}

function boom(): never {
  throw new Error("hook broke");
}

describe.each(BOTH_MODES)("the loop, $mode", ({ streaming }) => {
  it("answers without tools, and the model is asked in the mode of the surface", async () => {
    proves("AGENT-11");
    using model = new ScriptedModel([text("Hi there")]);
    const run = await runAgent({ streaming, models: { main: model } });
    expect(run.answer).toBe("Hi there");
    expect(run.completed.data).toEqual({ finish_reason: "stop", model: "main", tool_rounds: 0 });
    expect(model.modes).toEqual([streaming ? "stream" : "complete"]);
    expect(run.snapshots).toEqual(streaming ? ["Hi there"] : []);
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
    expect(run.ended).toMatchObject([
      { tool_call_id: "c1", tool_name: "look", result: { value: "y" }, model_text: "y" },
    ]);
    expect(run.completed.data.tool_rounds).toBe(1);
  });

  it("tells the model of a tool that exists and is not granted, and goes on", async () => {
    proves("LOOP-02");
    using model = new ScriptedModel([calls([{ name: "secret_tool" }]), text("Sorry.")]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { look: {} },
      ungranted: ["secret_tool"],
    });
    expect(run.ended[0]?.model_text).toMatch(/^Error: .*not authorized/);
    expect(run.host.toolCalls).toEqual([]);
    expect(run.answer).toBe("Sorry.");
  });

  it("gives a tool's failure to the model, and completes", async () => {
    proves("LOOP-03");
    using model = new ScriptedModel([calls([{ name: "look" }]), text("It failed.")]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: {
        look: {
          run: () => {
            throw new Error("forced failure");
          },
        },
      },
    });
    expect(run.sentAfterUser(1)[1]?.content).toBe("Error: Tool execution failed: forced failure");
    expect(run.completed.data.finish_reason).toBe("stop");
  });

  it("ends as a time-out when a tool finds no time left, with the usage so far", async () => {
    proves("LOOP-04");
    using model = new ScriptedModel([calls([{ name: "look" }], { usage: usage(3, 2) })]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: {
        look: {
          run: () => {
            throw new ServiceError("host.deadline_exceeded", "No time left.");
          },
        },
      },
    });
    expect(run.failed.data).toMatchObject({ code: "runner.timeout", retryable: true });
    expect(run.failed.usage).toMatchObject({ model_calls: 1, total_tokens: 5 });
  });

  it("ends without another model call when every result asks for it, and only then", async () => {
    proves("LOOP-07");
    const tools = {
      last: { run: () => ({ terminate: true, note: "bye" }) },
      look: { run: () => ({ terminate: "true" }) },
    };
    using ends = new ScriptedModel([calls([{ name: "last" }, { name: "last" }])]);
    const ended = await runAgent({ streaming, models: { main: ends }, tools });
    expect(ended.completed.data).toMatchObject({ finish_reason: "terminate", tool_rounds: 1 });
    expect(ended.ended[0]?.model_text).toBe('{"note":"bye"}');
    using goesOn = new ScriptedModel([calls([{ name: "last" }, { name: "look" }]), text("More.")]);
    const going = await runAgent({ streaming, models: { main: goesOn }, tools });
    expect(going.answer).toBe("More.");
  });

  it("stops a model that always calls at the limit, visibly, and completes", async () => {
    proves("LOOP-08");
    using model = new ScriptedModel([
      calls([{ name: "look", arguments: { n: 1 } }]),
      calls([{ name: "look", arguments: { n: 2 } }]),
      calls([{ id: "c3", name: "look", arguments: { n: 3 } }], { text: "Once more." }),
    ]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { look: {} },
      config: { "max-tool-iterations": 2 },
    });
    expect(run.host.toolCalls).toHaveLength(2);
    expect(run.answer).toMatch(/^Once more\.\n\n.*limit of 2 tool rounds/);
    expect(run.snapshots.at(-1)).toBe(streaming ? run.answer : undefined);
    expect(run.ended.at(-1)).toMatchObject({
      tool_call_id: "c3",
      model_text: textWith("Not executed: limit reached"),
    });
    expect(run.completed.data).toMatchObject({
      finish_reason: "max_iterations",
      tool_rounds: 2,
      warnings: [{ message: textWith("2") }],
    });
    expect(run.stored.map(({ role }) => role)).toEqual([
      "assistant",
      "tool",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "assistant",
    ]);
  });

  it("asks for the last reply without tools, and its text is the answer", async () => {
    proves("LOOP-09");
    using model = new ScriptedModel([
      ...[1, 2, 3].map((n) => calls([{ name: "look", arguments: { n } }])),
      text("All I know."),
    ]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { look: {} },
      config: { "max-tool-iterations": 3 },
    });
    expect(model.request(2).tools).toHaveLength(1);
    expect(model.request(3).tools).toEqual([]);
    expect(model.request(3).messages.at(-1)).toMatchObject({
      role: "system",
      content: textWith("used up"),
    });
    expect(run.answer).toBe("All I know.");
    expect(run.completed.data).toMatchObject({ finish_reason: "max_iterations", tool_rounds: 3 });
  });

  it("names the limit where even the last reply is empty, and still completes", async () => {
    using model = new ScriptedModel([calls([{ name: "look" }]), text(""), text("")]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { look: {} },
      config: { "max-tool-iterations": 1 },
    });
    expect(run.answer).toContain("limit of 1 tool rounds");
    expect(run.completed.data.finish_reason).toBe("max_iterations");
  });

  it("makes ids for calls that have none, all different and new in the conversation", async () => {
    proves("LOOP-10");
    using model = new ScriptedModel([
      calls([{ name: "look" }, { name: "look" }]),
      calls([{ id: "taken", name: "look", arguments: { n: 2 } }]),
      text("Done."),
    ]);
    const history = [
      { role: "user" as const, content: "Earlier" },
      {
        role: "assistant" as const,
        content: null,
        tool_calls: [{ id: "taken", type: "function" as const, function: { name: "look", arguments: "{}" } }],
      },
      { role: "tool" as const, tool_call_id: "taken", content: "x" },
    ];
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { look: {} },
      history: history.map((message, i) => ({
        sequence: i,
        run_id: "run_0",
        event_id: null,
        message,
        partial: false,
        created_at: 0,
      })),
    });
    const ids = run.started.map(({ tool_call_id }) => tool_call_id);
    expect(new Set(["taken", ...ids]).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^call_[0-9a-f]{24}$/);
    expect(run.ended.map(({ tool_call_id }) => tool_call_id)).toEqual(ids);
  });

  it("ends with a hook that throws", async () => {
    proves("LOOP-11");
    const codes = await Promise.all(
      [{ beforeTool: boom }, { nextTurn: boom }, { afterModel: boom }].map(async (hooks) => {
        const model = new ScriptedModel([calls([{ name: "look" }])]);
        const run = await runAgent({ streaming, models: { main: model }, tools: { look: {} }, hooks });
        model.assertFinished();
        expect(run.failed.data.error).toContain("hook broke");
        return run.failed.data.code;
      }),
    );
    expect(codes).toEqual(["runner.tool_error", "runner.tool_error", "runner.error"]);
  });

  it("takes a message that comes during a batch before it asks the model again, and gives one final reply", async () => {
    proves("LOOP-12");
    const arrived = ["Make it blue.", "And large."];
    using model = new ScriptedModel([calls([{ name: "look" }]), text("Blue and large.")]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { look: {} },
      apis: { steering_pull: true },
      steering: () => arrived.splice(0),
    });
    expect(model.requests[1]?.messages.slice(-3)).toMatchObject([
      { role: "tool" },
      { role: "user", content: "Make it blue." },
      { role: "user", content: "And large." },
    ]);
    expect(run.messages.map(({ message }) => message.content)).toEqual(["Blue and large."]);
    expect(run.host.actions.filter((action) => action.startsWith("steering"))).toEqual([
      "steering all",
      "steering all after Blue and large.",
    ]);
    expect(run.completed.data).toMatchObject({ finish_reason: "stop", tool_rounds: 1 });
  });

  it("goes on with what has come when it would end, in a new paragraph after what was shown", async () => {
    const arrived = [[], ["And in French?"]];
    using model = new ScriptedModel([calls([{ name: "look" }]), text("A cat."), text("Un chat.")]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { look: {} },
      apis: { steering_pull: true },
      steering: () => arrived.shift() ?? [],
    });
    expect(model.requests[2]?.messages.slice(-2)).toEqual([
      { role: "assistant", content: "A cat." },
      { role: "user", content: "And in French?" },
    ]);
    expect(run.messages.map(({ message }) => message.content)).toEqual(["Un chat."]);
    expect(run.snapshots.at(-1)).toBe(streaming ? "A cat.\n\nUn chat." : undefined);
  });

  it("goes on after calls that would end the run when a message has come by then", async () => {
    const arrived = ["Wait."];
    using model = new ScriptedModel([calls([{ name: "stop" }]), text("I wait.")]);
    const stop = { run: () => ({ ok: true, result: "done", terminate: true }) };
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { stop },
      apis: { steering_pull: true },
      steering: () => arrived.splice(0),
    });
    expect(run.answer).toBe("I wait.");
  });

  it("asks for no messages where the host does not offer it, and takes a refusal for none", async () => {
    using model = new ScriptedModel([text("Hi.")]);
    const quiet = await runAgent({ streaming, models: { main: model }, steering: () => ["unheard"] });
    expect(quiet.host.actions.filter((action) => action.startsWith("steering"))).toEqual([]);
    using other = new ScriptedModel([text("Hi.")]);
    const refused = await runAgent({
      streaming,
      models: { main: other },
      apis: { steering_pull: true },
      steering: () => {
        throw new ServiceError("host.unauthorized", "This run is not authorized for steering_pull.");
      },
    });
    expect(refused.answer).toBe("Hi.");
  });

  it("adds up usage and lists it per turn", async () => {
    proves("LOOP-13");
    using model = new ScriptedModel([
      calls([{ name: "look" }], { usage: usage(10, 1) }),
      text("Ok.", { usage: usage(20, 2) }),
    ]);
    const run = await runAgent({ streaming, models: { main: model }, tools: { look: {} } });
    expect(run.completed.usage).toEqual({
      model_calls: 2,
      ...usage(30, 3),
      turns: [usage(10, 1), usage(20, 2)],
    });
  });

  it("shares nothing between runs at once", async () => {
    proves("LOOP-14");
    const gate = new Gate();
    using slow = new ScriptedModel([after(gate.opened, text("slow answer"))]);
    using quick = new ScriptedModel([text("quick answer")]);
    const first = runAgent({ streaming, models: { main: slow }, runId: "run_a" });
    const second = await runAgent({ streaming, models: { main: quick }, runId: "run_b" });
    gate.open();
    const runs = [await first, second];
    expect(runs.map(({ answer }) => answer)).toEqual(["slow answer", "quick answer"]);
    expect(runs.map(({ results }) => new Set(results.map(({ run_id }) => run_id)))).toEqual([
      new Set(["run_a"]),
      new Set(["run_b"]),
    ]);
    expect(runs.map(({ snapshots }) => snapshots)).toEqual(
      streaming ? [["slow answer"], ["quick answer"]] : [[], []],
    );
  });

  it("warns of the third equal call, and ends after the fifth", async () => {
    proves("LOOP-17");
    using model = new ScriptedModel([
      ...always(5, [{ name: "exec", arguments: { command: "ls" } }]),
      text("I am stuck."),
    ]);
    let started = 0;
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: {
        exec: {
          run: () => {
            started += 1;
            return {
              ok: true,
              result: {
                stdout: "a.txt",
                duration_ms: started * 7,
                started_at: `2026-01-01T00:00:0${started}Z`,
              },
            };
          },
        },
      },
    });
    const warned = run.ended.map(({ model_text }) => model_text?.includes("[warning:") ?? false);
    expect(warned).toEqual([false, false, true, true, true]);
    expect(model.requests).toHaveLength(6);
    expect(model.request().tools).toEqual([]);
    expect(run.answer).toBe("I am stuck.");
    expect(run.completed.data).toMatchObject({ finish_reason: "loop", warnings: [{ code: "runner.loop" }] });
  });

  it("says that an object is needed, and ends a model that never gives one", async () => {
    proves("LOOP-18");
    using model = new ScriptedModel([
      ...always(5, [{ name: "read", arguments: '["a.txt"]' }]),
      text("I give up."),
    ]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { read: { parameters: PATH_INPUT } },
    });
    expect(run.ended[0]?.model_text).toMatch(
      /^Error: .*"read" needs a JSON object.*a list came.*Example: \{"path":"\.\.\."\}/,
    );
    expect(run.host.toolCalls).toEqual([]);
    expect(run.completed.data.finish_reason).toBe("loop");
  });

  it("explains an unknown tool once, and points to that afterwards", async () => {
    proves("LOOP-19", "LOOP-20");
    const five = Array.from({ length: 5 }, () => ({ name: "calculator" }));
    using model = new ScriptedModel([calls([...five, { name: "run_python" }]), text("No calculator.")]);
    const run = await runAgent({ streaming, models: { main: model }, tools: { calculate: {}, look: {} } });
    const texts = run.ended.map(({ model_text }) => model_text ?? "");
    expect(texts[0]).toBe(
      'Error: The tool "calculator" does not exist. Available tools: calculate, look. Did you mean "calculate"?',
    );
    for (const short of texts.slice(1, 5)) expect(short.length).toBeLessThan(90);
    expect(texts[5]).toMatch(/"run_python" does not exist/);
    expect(run.answer).toBe("No calculator.");
  });

  it("keeps text of earlier turns at the beginning of snapshots, and out of the final message", async () => {
    proves("MODEL-08", "MODEL-11");
    using model = new ScriptedModel([calls([{ name: "look" }], { text: "before" }), text("after")]);
    const run = await runAgent({ streaming, models: { main: model }, tools: { look: {} } });
    expect(run.snapshots).toEqual(streaming ? ["before", "before\n\nafter"] : []);
    expect(run.answer).toBe("after");
    expect(run.stored.map(({ role, content }) => [role, content])).toEqual([
      ["assistant", "before"],
      ["tool", "done"],
      ["assistant", "after"],
    ]);
  });

  it("passes the wish to hide thinking on to the model call", async () => {
    proves("MODEL-10");
    using model = new ScriptedModel([text("a")]);
    const run = await runAgent({ streaming, models: { main: model }, config: { "remove-think": true } });
    expect(run.host.modelCalls[0]?.removeThink).toBe(true);
  });

  it("says so when the model's own limit cut the answer", async () => {
    using model = new ScriptedModel([text("half", { finishReason: "length" })]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      resources: [aModel("main", { max_output_tokens: 4096 })],
    });
    expect(run.completed.data.warnings).toEqual([{ code: "runner.output_cut", message: textWith("4096") }]);
  });

  it("answers a call of a tool that needs a box which the run has not", async () => {
    using model = new ScriptedModel([calls([{ name: "exec" }]), text("No box.")]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { exec: { effect: { kind: "box.exec" } } },
      config: { "box-enabled": false },
    });
    expect(run.ended[0]?.model_text).toMatch(/needs a box, and this run has none/);
    expect(run.host.actions).not.toContain("detail exec");
  });

  it("tells the model of a host that refuses or fails, without the host's paths", async () => {
    const failures = [
      new ServiceError("host.unauthorized", "This run is not authorized for that.", {
        hint: "Ask for a grant.",
      }),
      new ServiceError("box.engine_unavailable", "The engine is gone.", { hint: "Try later." }),
      new Error("EACCES: open '/srv/berth/data/x'\n    at Object.open (/srv/berth/dist/main.js:1:1)"),
    ];
    using model = new ScriptedModel([
      calls(failures.map((_, i) => ({ name: "look", arguments: { i } }))),
      text("Ok."),
    ]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: {
        look: {
          run: ({ i }) => {
            throw failures[Number(i)] ?? new Error("No such failure.");
          },
        },
      },
    });
    const byCall = new Map(run.ended.map(({ tool_call_id, model_text }) => [tool_call_id, model_text]));
    expect(run.started.map(({ tool_call_id }) => byCall.get(tool_call_id))).toEqual([
      "Error: This run is not authorized for that. Ask for a grant.",
      "Error: Tool execution failed: The engine is gone. Try later.",
      "Error: Tool execution failed: EACCES: open '[path]'",
    ]);
  });

  it("cuts a long result all the same when it cannot be saved", async () => {
    using model = new ScriptedModel([calls([{ name: "look" }]), text("Ok.")]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { look: { run: () => "x".repeat(99) } },
      config: { "max-tool-result-chars": 9 },
      saveFails: true,
    });
    expect(run.ended[0]?.model_text).toMatch(/^x{9}\n\[tool result truncated/);
  });

  it("turns refusals of the host outside the loop into its own code", async () => {
    const run = await runAgent({ streaming, models: { main: new ScriptedModel([]) }, historyFails: true });
    expect(run.failed.data).toMatchObject({ code: "runner.error", error: "The history is not to be had." });
  });

  it("offers no tools to a model that cannot call any", async () => {
    using model = new ScriptedModel([text("a")]);
    await runAgent({
      streaming,
      models: { main: model },
      tools: { look: {} },
      resources: [aModel("main", { abilities: [] })],
    });
    expect(model.request().tools).toEqual([]);
  });
});

describe("thinking that the user saw", () => {
  it("stays, and no other model is glued to it, when the reply holds nothing else", async () => {
    using model = new ScriptedModel([
      chunks([{ reasoning: "Hm, " }, { reasoning: "well." }, { finishReason: "stop" }]),
      text("Here."),
    ]);
    const run = await runAgent({ models: { main: model, backup: new ScriptedModel([]) } });
    expect(run.snapshots.at(-1)).toBe("<think>Hm, well.</think>\n\nHere.");
    expect(run.answer).toBe("Here.");
  });
});

describe("time and cancel", () => {
  it.each(BOTH_MODES)("ends by its own timer, with the usage so far, $mode", async ({ streaming }) => {
    proves("LOOP-15");
    vi.useFakeTimers();
    try {
      using model = new ScriptedModel([calls([{ name: "look" }], { usage: usage(1, 1) }), hanging()]);
      const running = runAgent({
        streaming,
        models: { main: model },
        tools: { look: {} },
        config: { timeout: 1 },
      });
      await vi.advanceTimersByTimeAsync(1000);
      const run = await running;
      expect(run.failed.data).toMatchObject({ code: "runner.timeout", retryable: true, tool_rounds: 1 });
      expect(run.failed.data.error).toContain("1 s");
      expect(run.failed.usage?.total_tokens).toBe(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it.each(BOTH_MODES)(
    "has no timer of its own with 0; the host's deadline ends it, $mode",
    async ({ streaming }) => {
      proves("LOOP-16");
      vi.useFakeTimers();
      try {
        const controller = new AbortController();
        using model = new ScriptedModel([hanging()]);
        const { record, run } = startAgent({
          streaming,
          models: { main: model },
          config: { timeout: 0 },
          signal: controller.signal,
        });
        const reading = (async () => {
          for await (const result of run) record.results.push(result);
        })();
        await vi.advanceTimersByTimeAsync(3_600_000);
        expect(record.results).toEqual([]);
        controller.abort(new ServiceError("host.deadline_exceeded", "No time left."));
        await reading;
        expect(record.failed.data).toMatchObject({ code: "runner.timeout", retryable: true });
      } finally {
        vi.useRealTimers();
      }
    },
  );

  it("ends as cancelled, stops its tools and keeps the usage", async () => {
    const controller = new AbortController();
    let isStopped = false;
    using model = new ScriptedModel([calls([{ name: "slow" }, { name: "slow" }], { usage: usage(2, 2) })]);
    const run = await runAgent({
      models: { main: model },
      signal: controller.signal,
      tools: {
        slow: {
          run: (_, { signal }) =>
            new Promise((_resolve, reject) => {
              signal.addEventListener("abort", () => {
                isStopped = true;
                reject(new Error("stopped"));
              });
              setImmediate(() => controller.abort());
            }),
        },
      },
    });
    expect(run.failed.data).toMatchObject({ code: "cancelled", retryable: false });
    expect(run.failed.usage?.total_tokens).toBe(4);
    expect(isStopped).toBe(true);
  });

  it("begins nothing when it is cancelled already", async () => {
    using model = new ScriptedModel([]);
    const run = await runAgent({
      models: { main: model },
      signal: AbortSignal.abort(new ServiceError("cancelled", "Stopped.")),
    });
    expect(run.types).toEqual(["run.failed"]);
    expect(run.failed.data.code).toBe("cancelled");
  });

  it("stops every tool when its reader leaves", async () => {
    const stopped: string[] = [];
    using model = new ScriptedModel([calls([{ name: "quick" }, { name: "slow" }])]);
    const { run } = startAgent({
      models: { main: model },
      tools: {
        quick: {},
        slow: {
          run: (_, { signal, callId }) =>
            new Promise((_resolve, reject) => {
              signal.addEventListener("abort", () => {
                stopped.push(callId);
                reject(new Error("stopped"));
              });
            }),
        },
      },
    });
    for await (const result of run) if (result.type === "tool.call.completed") break;
    expect(stopped).toHaveLength(1);
  });

  it("shows unseen text after 300 ms, though the model says nothing more", async () => {
    vi.useFakeTimers();
    try {
      const clock = new FakeClock();
      using model = new ScriptedModel([
        async function* (_, options) {
          yield { text: "first words" };
          yield* hanging()(_, options);
        },
      ]);
      const controller = new AbortController();
      const { record, run } = startAgent({ models: { main: model }, clock, signal: controller.signal });
      const reading = (async () => {
        for await (const result of run) record.results.push(result);
      })();
      await vi.advanceTimersByTimeAsync(299);
      expect(record.snapshots).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect(record.snapshots).toEqual(["first words"]);
      controller.abort();
      await reading;
    } finally {
      vi.useRealTimers();
    }
  });
});
