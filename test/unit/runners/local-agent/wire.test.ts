/** The local agent over real HTTP against a strict scripted server: what providers send, and what they get back. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { OpenAiChatModel } from "../../../../src/adapters/openai/openai-chat-model.js";
import { toWireId } from "../../../../src/adapters/openai/request-body.js";
import type { TranscriptItem } from "../../../../src/domain/history.js";
import { type Message, messageSchema } from "../../../../src/domain/message.js";
import {
  bytes,
  chunk,
  reply,
  type ScriptedModelServer,
  type ServerStep,
  startScriptedModelServer,
  streamOf,
  type WireCall,
  type WireMessage,
} from "../../../fakes/scripted-model-server.js";
import { proves } from "../../../support/proves.js";
import { textLike } from "../../../support/text-like.js";
import { modelSettings } from "../../adapters/openai/openai-model.js";
import { type AgentSetup, BOTH_MODES, runAgent, textWith } from "./run-agent.js";

const COMMAND = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
const CONTENT = {
  type: "object",
  properties: { path: { type: "string" }, content: { type: "string" } },
  required: ["path", "content"],
};
const PATHS = {
  type: "object",
  properties: { paths: { type: "array", items: { type: "string" } } },
  required: ["paths"],
};
const DONE = "data: [DONE]\n\n";

function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function storedCall(id: string) {
  return { id, type: "function" as const, function: { name: "exec", arguments: '{"command":"ls"}' } };
}

/** Runs the agent on one server; fails on a request that a strict provider would refuse, and on unused steps. */
async function runOn(steps: readonly ServerStep[], setup: AgentSetup = {}) {
  await using server = await startScriptedModelServer(steps, { isStrict: true });
  const commands: unknown[] = [];
  const run = await runAgent({
    models: { main: new OpenAiChatModel(modelSettings(server.baseUrl)) },
    tools: {
      exec: { parameters: COMMAND, run: ({ command }) => void commands.push(command) },
      write: { parameters: CONTENT, run: ({ content }) => void commands.push(content) },
      export_box_files: { parameters: PATHS },
    },
    ...setup,
  });
  expect(server.faults).toEqual([]);
  server.assertFinished();
  return { run, commands, server, requests: server.requests.map(({ body }) => body.messages ?? []) };
}

function callsOf(messages: readonly WireMessage[] | undefined): readonly WireCall[] {
  return (messages ?? []).flatMap((message) => message.tool_calls ?? []);
}

function answersOf(messages: readonly WireMessage[] | undefined): readonly WireMessage[] {
  return (messages ?? []).filter(({ role }) => role === "tool");
}

/** Calls in pieces where the mode streams, whole where it does not. */
function quirk(
  streamed: readonly unknown[],
  whole: readonly WireCall[],
  finishReason = "tool_calls",
): ServerStep {
  return (request, response) =>
    request.body.stream === true
      ? streamOf(...streamed, chunk({}, finishReason))(request, response)
      : reply({ calls: whole, finishReason })(request, response);
}

const pieces = (...calls: readonly WireCall[]) => calls.map((call) => chunk({ tool_calls: [call] }));
const exec = (command: string, fields: Partial<WireCall> = {}): WireCall => ({
  ...fields,
  function: { name: "exec", arguments: JSON.stringify({ command }) },
});
const ok = reply({ content: "Done." });

describe.each(BOTH_MODES)("calls, $mode", ({ streaming }) => {
  it("get one id where the provider sends none, the same in the stored message and in the answer", async () => {
    proves("WIRE-01");
    const { run, commands, requests } = await runOn(
      [
        quirk(
          pieces(
            { index: 0, function: { name: "exec" } },
            { index: 0, function: { arguments: '{"command":' } },
            { index: 0, function: { arguments: '"ls"}' } },
          ),
          [exec("ls")],
        ),
        ok,
      ],
      { streaming },
    );
    expect(commands).toEqual(["ls"]);
    const [id] = run.stored.flatMap((message) => message.tool_calls ?? []).map((call) => call.id);
    expect(id).toMatch(/^call_[0-9a-f]{24}$/);
    expect(callsOf(requests[1])[0]?.id).toBe(id);
    expect(answersOf(requests[1])[0]?.tool_call_id).toBe(id);
    expect(new Set(run.snapshots)).toEqual(new Set(streaming ? ["Done."] : []));
  });

  it.each([
    {
      claim: () => proves("WIRE-02"),
      rule: "id and name on the first piece only",
      streamed: pieces(
        { index: 0, id: "c1", function: { name: "exec", arguments: "" } },
        { index: 0, function: { arguments: '{"command"' } },
        { index: 0, function: { arguments: ':"1"}' } },
      ),
      whole: [exec("1", { id: "c1" })],
      expected: ["1"],
    },
    {
      claim: () => proves("WIRE-03"),
      rule: "own ids and no index",
      streamed: pieces(exec("1", { id: "c1" }), exec("2", { id: "c2" })),
      whole: [exec("1", { id: "c1" }), exec("2", { id: "c2" })],
      expected: ["1", "2"],
    },
    {
      claim: () => proves("WIRE-04"),
      rule: "own ids and all of index 0",
      streamed: pieces(...["1", "2", "3"].map((n) => exec(n, { index: 0, id: `c${n}` }))),
      whole: ["1", "2", "3"].map((n) => exec(n, { index: 0, id: `c${n}` })),
      expected: ["1", "2", "3"],
    },
    {
      claim: () => proves("WIRE-06"),
      rule: "index 1 with an id, then a name, then arguments",
      streamed: pieces(
        { index: 1, id: "c1" },
        { index: 1, function: { name: "exec" } },
        { index: 1, function: { arguments: '{"command":"1"}' } },
      ),
      whole: [exec("1", { index: 1, id: "c1" })],
      expected: ["1"],
    },
    {
      claim: () => proves("WIRE-07"),
      rule: "index 0 and 1 without ids",
      streamed: pieces(exec("1", { index: 0 }), exec("2", { index: 1 })),
      whole: [exec("1", { index: 0 }), exec("2", { index: 1 })],
      expected: ["1", "2"],
    },
    {
      claim: () => proves("WIRE-08"),
      rule: "one id for two calls",
      streamed: pieces(exec("1", { index: 0, id: "c" }), exec("2", { index: 1, id: "c" })),
      whole: [exec("1", { id: "c" }), exec("2", { id: "c" })],
      expected: ["1", "2"],
    },
  ])("run once each: $rule", async ({ claim, streamed, whole, expected }) => {
    claim();
    const { commands, requests } = await runOn([quirk(streamed, whole), ok], { streaming });
    expect(commands).toEqual(expected);
    expect(callsOf(requests[1])).toHaveLength(expected.length);
    expect(new Set(callsOf(requests[1]).map((call) => call.id)).size).toBe(expected.length);
  });

  it("with one id for two of them are answered once each, in every later request", async () => {
    proves("WIRE-09");
    const twice = [exec("same", { id: "c" }), exec("same", { id: "c" })];
    const more = ["1", "2", "3", "4", "5"].map((n) => reply({ calls: [exec(n, { id: `c${n}` })] }));
    const { requests } = await runOn([quirk(pieces(...twice), twice), ...more, ok], { streaming });
    expect(requests.map((messages) => answersOf(messages).length)).toEqual([0, 2, 3, 4, 5, 6, 7]);
    expect(requests.map((messages) => callsOf(messages).length)).toEqual([0, 2, 3, 4, 5, 6, 7]);
  });

  it("keep an over-long id in store, and go to another model under a derived one, still paired", async () => {
    proves("WIRE-10");
    const id = `toolu_${"x".repeat(54)}`;
    const first = await runOn([quirk(pieces(exec("1", { index: 0, id })), [exec("1", { id })]), ok], {
      streaming,
    });
    expect(first.run.started[0]?.tool_call_id).toBe(id);
    const history = first.run.stored.map((message, i) => stored(i, message));
    const { requests } = await runOn([ok], { streaming, history });
    expect(callsOf(requests[0])[0]?.id).toBe(toWireId(id));
    expect(answersOf(requests[0])[0]?.tool_call_id).toBe(toWireId(id));
  });

  it("with two objects back to back are two calls", async () => {
    proves("WIRE-05");
    const double: WireCall = {
      id: "c1",
      function: { name: "exec", arguments: '{"command":"echo 1"}{"command":"echo 2"}' },
    };
    const { commands, requests } = await runOn([reply({ calls: [double] }), ok], { streaming });
    expect(commands).toEqual(["echo 1", "echo 2"]);
    expect(callsOf(requests[1]).map((call) => call.function?.arguments)).toEqual([
      '{"command":"echo 1"}',
      '{"command":"echo 2"}',
    ]);
  });
});

describe.each(BOTH_MODES)("arguments, $mode", ({ streaming }) => {
  it("that are empty are an object, and the missing field is named", async () => {
    proves("WIRE-11");
    const empty = ["exec", "export_box_files"].map((name) => ({
      id: name,
      function: { name, arguments: "" },
    }));
    const { run, requests, commands } = await runOn([reply({ calls: empty }), ok], { streaming });
    expect(commands).toEqual([]);
    expect(run.ended.map(({ model_text }) => model_text)).toEqual([
      textLike(/^Error: .*"exec".*"command" is missing/),
      textLike(/^Error: .*"export_box_files".*"paths" is missing/),
    ]);
    expect(callsOf(requests[1]).map((call) => call.function?.arguments)).toEqual(["{}", "{}"]);
    expect(run.answer).toBe("Done.");
  });

  it("that stop inside a string do not run, and the model is told why", async () => {
    proves("WIRE-12");
    const cut = { id: "c1", function: { name: "exec", arguments: '{"command":"rm -rf /tm' } };
    const { run, commands, requests } = await runOn([reply({ calls: [cut] }), ok], { streaming });
    expect(commands).toEqual([]);
    expect(answersOf(requests[1])[0]?.content).toMatch(
      /^Error: Invalid JSON arguments for the tool "exec".*command \(string, required\)/,
    );
    expect(run.answer).toBe("Done.");
  });

  it("that are encoded twice, or are an object, run once, and go back as text", async () => {
    proves("WIRE-13");
    const doubled: WireCall = {
      id: "c1",
      function: { name: "exec", arguments: JSON.stringify('{"command":"1"}') },
    };
    const asObject: WireCall = { id: "c2", function: { name: "exec", arguments: { command: "2" } } };
    const { commands, requests } = await runOn([reply({ calls: [doubled, asObject] }), ok], { streaming });
    expect(commands).toEqual(["1", "2"]);
    expect(callsOf(requests[1]).map((call) => call.function?.arguments)).toEqual([
      '{"command":"1"}',
      '{"command":"2"}',
    ]);
  });
});

describe.each(BOTH_MODES)("the end of a reply, $mode", ({ streaming }) => {
  it.each(["stop", null, "function_call", "eos"])(
    "does not decide about calls: finish reason %o",
    async (finishReason) => {
      proves("WIRE-14");
      const three = ["1", "2", "3"].map((n) => exec(n, { id: `c${n}` }));
      const { run, commands } = await runOn(
        [reply({ content: "Some text.", calls: three, finishReason }), ok],
        { streaming },
      );
      expect(commands).toEqual(["1", "2", "3"]);
      expect(run.answer).toBe("Done.");
    },
  );

  it("at the token limit keeps its last call from running, even if that parses", async () => {
    proves("WIRE-17");
    const cut: WireCall = { id: "c2", function: { name: "write", arguments: '{"path":"a","content":"abc' } };
    const whole: WireCall = {
      id: "c3",
      function: { name: "write", arguments: '{"path":"a","content":"abc"}' },
    };
    for (const last of [cut, whole]) {
      const step = reply({ calls: [exec("first", { id: "c1" }), last], finishReason: "length" });
      const { commands, requests } = await runOn([step, ok], { streaming });
      expect(commands).toEqual(["first"]);
      expect(answersOf(requests[1])[1]?.content).toMatch(/cut.*smaller pieces/);
    }
  });

  it("that is the same cut call again and again ends the run after three", async () => {
    proves("WIRE-18");
    const cut: WireCall = { id: "c", function: { name: "write", arguments: '{"path":"a","content":"abc' } };
    const step = reply({ calls: [cut], finishReason: "length" });
    const { run, commands } = await runOn([step, step, step], { streaming });
    expect(commands).toEqual([]);
    expect(run.failed.data).toMatchObject({
      code: "runner.llm_error",
      error: textWith("never fit its output limit"),
    });
    expect(run.ended).toHaveLength(3);
  });

  it("records usage that comes after it, in a chunk without choices", async () => {
    proves("WIRE-20");
    const { run } = await runOn(
      [reply({ content: "Hi", usage: { prompt_tokens: 4, completion_tokens: 1, total_tokens: 5 } })],
      { streaming },
    );
    expect(run.answer).toBe("Hi");
    expect(run.completed.usage).toMatchObject({ model_calls: 1, total_tokens: 5 });
  });
});

describe("streams", () => {
  it("that break after text are incomplete", async () => {
    proves("WIRE-19");
    const { run } = await runOn([
      bytes([event(chunk({ content: "one " })), event(chunk({ content: "two" }))]),
    ]);
    expect(run.failed.data).toMatchObject({ code: "runner.llm_error", retryable: false });
    expect(run.snapshots).toEqual(["one two"]);
    expect(run.messages).toEqual([]);
  });

  it("commit no model with a chunk that has no choice", async () => {
    proves("WIRE-21");
    const { run } = await runOn([
      bytes([event({ choices: [] }), event(chunk({ content: "Hi" }, "stop")), DONE]),
    ]);
    expect(run.answer).toBe("Hi");
    await using main = await startScriptedModelServer([bytes([event({ choices: [] })], { ending: "reset" })]);
    await using backup = await startScriptedModelServer([ok]);
    const second = await runAgent({ models: modelsOn({ main, backup }) });
    expect(second.answer).toBe("Done.");
  });

  it("with an error object go to the fallback before text, and end the run after it", async () => {
    proves("WIRE-22");
    const overheated = event({ error: { message: "The engine overheated.", code: 502 } });
    await using main = await startScriptedModelServer([
      bytes([event(chunk({ role: "assistant" })), overheated]),
    ]);
    await using backup = await startScriptedModelServer([ok]);
    const before = await runAgent({ models: modelsOn({ main, backup }) });
    expect(before.answer).toBe("Done.");
    main.enqueue(bytes([event(chunk({ content: "half" })), overheated]));
    const after = await runAgent({ models: modelsOn({ main, backup }) });
    expect(after.failed.data.error).toContain("The engine overheated.");
    expect(after.snapshots).toEqual(["half"]);
    expect(backup.requests).toHaveLength(1);
  });

  it("keep characters whole wherever their bytes are cut, in text and in arguments", async () => {
    proves("WIRE-23");
    const wire = Buffer.from(
      event(chunk({ content: "你好🎉" })) +
        event(
          chunk(
            {
              tool_calls: [
                {
                  index: 0,
                  id: "c1",
                  function: { name: "write", arguments: '{"path":"a","content":"你好🎉"}' },
                },
              ],
            },
            "tool_calls",
          ),
        ) +
        DONE,
    );
    const special = Array.from(wire, (byte, i) => (byte >= 0x80 ? i : -1)).filter((i) => i >= 0);
    for (const cut of special) {
      const { run, commands } = await runOn([bytes([wire.subarray(0, cut), wire.subarray(cut)]), ok]);
      expect(run.snapshots[0]).toBe("你好🎉");
      expect(commands).toEqual(["你好🎉"]);
    }
  });

  it("deliver a line separator of Unicode unchanged", async () => {
    proves("WIRE-24");
    const { run } = await runOn([bytes([event(chunk({ content: "a\u2028b" }, "stop")), DONE])]);
    expect(run.answer).toBe("a\u2028b");
  });

  it("give back values that share a line, and a value that is spread over events", async () => {
    proves("WIRE-25");
    const name = JSON.stringify(
      chunk({ tool_calls: [{ index: 0, id: "c1", function: { name: "exec", arguments: "" } }] }),
    );
    const begin = JSON.stringify(
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"command":' } }] }),
    );
    const rest = JSON.stringify(
      chunk({ tool_calls: [{ index: 0, function: { arguments: '"ls"}' } }] }, "tool_calls"),
    );
    const joined = await runOn([
      bytes([
        `data: ${name}${begin}\n\n`,
        `data: ${rest.slice(0, 60)}\n\n`,
        `data: ${rest.slice(60)}\n\n`,
        DONE,
      ]),
      ok,
    ]);
    expect(joined.commands).toEqual(["ls"]);
    const lost = await runOn([bytes([event(chunk({ content: "x" })), `data: ${begin} garbage\n\n`, DONE])]);
    expect(lost.run.failed.data.code).toBe("runner.llm_error");
  });
});

describe.each(BOTH_MODES)("thinking and textual calls, $mode", ({ streaming }) => {
  const hidden = { streaming, config: { "remove-think": true } };

  it("before a closing tag alone is thinking too; the raw text is kept", async () => {
    proves("WIRE-26", "MODEL-09");
    const thinks = reply({ content: "plan…</think>Hello", calls: [exec("ls", { id: "c1" })] });
    const { run, requests } = await runOn([thinks, reply({ content: "plan…</think>Hello" })], hidden);
    expect(run.answer).toBe("Hello");
    expect(run.messages[0]?.message).toEqual({ role: "assistant", content: "Hello" });
    expect(run.stored.map((message) => message["raw_content"])).toEqual([
      "plan…</think>Hello",
      undefined,
      "plan…</think>Hello",
    ]);
    expect(JSON.stringify(requests[1])).not.toContain("plan…");
    for (const snapshot of run.snapshots.slice(1)) expect(snapshot).not.toContain("plan…");
  });

  it("in split tags never reaches the user", async () => {
    proves("WIRE-27");
    const split = ["<thin", "king>sec", "ret</thin", "king>H", "i"];
    const step: ServerStep = (request, response) =>
      request.body.stream === true
        ? streamOf(...split.map((content) => chunk({ content })), chunk({}, "stop"))(request, response)
        : reply({ content: split.join("") })(request, response);
    const { run } = await runOn([step], hidden);
    expect(run.answer).toBe("Hi");
    expect(new Set(run.snapshots)).toEqual(new Set(streaming ? ["Hi"] : []));
  });

  it("before a proper call leaves the call alone", async () => {
    proves("WIRE-28");
    const { run, commands } = await runOn(
      [reply({ content: "<think>hm</think>", calls: [exec("ls", { id: "c1" })] }), ok],
      hidden,
    );
    expect(commands).toEqual(["ls"]);
    expect(JSON.stringify(run.deltas)).not.toContain("hm");
    expect(run.answer).toBe("Done.");
  });

  it("of a later round does not leak", async () => {
    proves("WIRE-29");
    const clean = reply({ content: "Clean.", calls: [exec("ls", { id: "c1" })] });
    const { run } = await runOn([clean, reply({ content: "<think>secret</think>Answer" })], hidden);
    expect(JSON.stringify(run.deltas)).not.toContain("secret");
    expect(run.answer).toBe("Answer");
  });

  it("holds a call that does not count; after it, the same call runs once", async () => {
    proves("WIRE-30");
    const markup = '<tool_call>{"name":"exec","arguments":{"command":"ls"}}</tool_call>';
    for (const config of [{ "remove-think": true }, {}]) {
      const { run, commands, requests } = await runOn(
        [reply({ content: `<think>${markup}</think>${markup}` }), ok],
        { streaming, config },
      );
      expect(commands).toEqual(["ls"]);
      expect(callsOf(requests[1])).toHaveLength(1);
      expect(requests[1]?.find(({ role }) => role === "assistant")?.content).toBeNull();
      expect(run.answer).toBe("Done.");
    }
  });
});

describe.each(BOTH_MODES)("requests, $mode", ({ streaming }) => {
  it("have the content null where a message is only calls", async () => {
    proves("WIRE-31");
    const { requests } = await runOn([reply({ content: "", calls: [exec("ls", { id: "c1" })] }), ok], {
      streaming,
    });
    expect(requests[1]?.find(({ role }) => role === "assistant")).toMatchObject({ content: null });
  });

  it("leave out assistant messages with neither text nor calls", async () => {
    proves("WIRE-33");
    const history = [
      stored(1, { role: "user", content: "Earlier" }),
      stored(2, { role: "assistant", content: null }),
      stored(3, { role: "assistant", content: "<think>only thoughts</think>" }),
    ];
    const { requests } = await runOn([ok], { streaming, history });
    expect(requests[0]?.map(({ role }) => role)).toEqual(["system", "system", "user", "user"]);
  });

  it("echo reasoning word for word on the message with calls, and show it nowhere else", async () => {
    proves("WIRE-34");
    const thought = "First I list — then I look.";
    const thinking = reply({
      content: "Text.",
      extra: { reasoning_content: thought },
      calls: [exec("ls", { id: "c1" })],
    });
    const { run, requests } = await runOn([thinking, ok], { streaming, config: { "remove-think": true } });
    expect(requests[1]?.find(({ role }) => role === "assistant")).toMatchObject({
      reasoning_content: thought,
      content: "Text.",
    });
    expect(JSON.stringify([run.deltas, run.messages.map(({ message }) => message)])).not.toContain(thought);
  });

  it("echo reasoning of turns with tools only: plain turns do not grow", async () => {
    proves("WIRE-35");
    const extra = { reasoning_content: "because" };
    const plain = await runOn([reply({ content: "Plain.", extra })], { streaming });
    const history = [
      stored(1, { role: "user", content: "Hello" }),
      ...plain.run.stored.map((message, i) => stored(2 + i, message)),
    ];
    const { requests } = await runOn(
      [reply({ content: null, extra, calls: [exec("ls", { id: "c1" })] }), ok],
      { streaming, history },
    );
    const echoed = requests[1]?.filter((message) => "reasoning_content" in message) ?? [];
    expect(echoed).toHaveLength(1);
    expect(callsOf(echoed)).toHaveLength(1);
    expect(requests[1]?.some(({ content }) => content === "Plain.")).toBe(true);
  });

  it("carry a signature of a call back unchanged, also after it was stored", async () => {
    const signed = { extra_content: { google: { thought_signature: "a+/=\u2028é" } } };
    const first = await runOn([reply({ calls: [{ ...exec("ls", { id: "c1" }), ...signed }] }), ok], {
      streaming,
    });
    expect(callsOf(first.requests[1])[0]).toMatchObject(signed);
    const reloaded = z.array(messageSchema).parse(JSON.parse(JSON.stringify(first.run.stored)));
    const { requests } = await runOn([ok], {
      streaming,
      history: reloaded.map((message, i) => stored(i, message)),
    });
    expect(callsOf(requests[0])[0]).toMatchObject(signed);
  });

  it("are valid after a run that was killed between a call and its result", async () => {
    proves("WIRE-40");
    const history = [
      stored(1, { role: "user", content: "Earlier" }),
      stored(2, { role: "assistant", content: null, tool_calls: [storedCall("c1"), storedCall("c2")] }),
      stored(3, { role: "tool", tool_call_id: "c2", content: "a.txt" }),
    ];
    const { requests } = await runOn([ok], { streaming, history });
    expect(callsOf(requests[0]).map(({ id }) => id)).toEqual(["c2"]);
  });
});

function modelsOn(servers: Readonly<Record<string, ScriptedModelServer>>) {
  return Object.fromEntries(
    Object.entries(servers).map(([id, server]) => [id, new OpenAiChatModel(modelSettings(server.baseUrl))]),
  );
}

function stored(sequence: number, message: Message): TranscriptItem {
  return { sequence, run_id: "run_0", event_id: null, message, partial: false, created_at: 0 };
}
