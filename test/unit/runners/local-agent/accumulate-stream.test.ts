import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChatChunk } from "../../../../src/ports/chat-model.js";
import { isEmptyReply, ReplyAccumulator } from "../../../../src/runners/local-agent/accumulate-stream.js";
import { chunks, ScriptedModel } from "../../../fakes/scripted-model.js";
import { proves } from "../../../support/proves.js";
import { runAgent } from "./run-agent.js";

const PLAIN = { removeThink: false, holdsBack: false, offered: new Set<string>() };

function accumulate(list: readonly ChatChunk[], options = PLAIN) {
  const accumulator = new ReplyAccumulator(options);
  for (const chunk of list) accumulator.push(chunk, 0);
  return accumulator.end();
}

describe("snapshots", () => {
  it("come with every eighth chunk and at the end, cumulative, with calls on the last only", async () => {
    proves("MODEL-07");
    const pieces = Array.from({ length: 20 }, (_, i) => ({ text: `${i} ` }));
    const call = { calls: [{ index: 0, id: "c1", name: "look", arguments: "{}" }] };
    using model = new ScriptedModel([
      chunks([{ text: "" }, ...pieces, { ...call, finishReason: "tool_calls" }]),
      chunks([{ text: "end" }, { finishReason: "stop" }]),
    ]);
    const run = await runAgent({ models: { main: model }, tools: { look: {} } });
    const upTo = (count: number) =>
      pieces
        .slice(0, count)
        .map(({ text }) => text)
        .join("");
    const [eighth, sixteenth, last] = run.deltas.map(({ chunk }) => chunk);
    expect(eighth).toMatchObject({ content: upTo(8), msg_sequence: 1 });
    expect(sixteenth).toMatchObject({ content: upTo(16), msg_sequence: 2 });
    expect(last).toMatchObject({ content: upTo(20), msg_sequence: 3, tool_calls: [{ id: "c1" }] });
    expect([eighth?.tool_calls, sixteenth?.tool_calls]).toEqual([undefined, undefined]);
    expect(run.deltas.map(({ chunk }) => chunk.msg_sequence)).toEqual([1, 2, 3, 4]);
    expect(run.deltas.at(-1)?.chunk.is_final).toBe(true);
  });

  it("are due 300 ms after unseen text, and at once on an eighth chunk", () => {
    const accumulator = new ReplyAccumulator(PLAIN);
    expect(accumulator.dueInMs(0)).toBeNull();
    accumulator.push({ text: "a" }, 1000);
    expect(accumulator.dueInMs(1100)).toBe(200);
    expect(accumulator.dueInMs(1300)).toBe(0);
    expect(accumulator.takeSnapshot()).toBe("a");
    expect(accumulator.dueInMs(9000)).toBeNull();
    for (let i = 0; i < 7; i += 1) accumulator.push({ text: "b" }, 9000);
    expect(accumulator.dueInMs(9000)).toBe(0);
    expect(accumulator.takeSnapshot()).toBe("abbbbbbb");
    expect(accumulator.takeSnapshot()).toBeNull();
  });

  it("are not made of white space alone", () => {
    const accumulator = new ReplyAccumulator(PLAIN);
    accumulator.push({ text: " \n" }, 0);
    expect(accumulator.hasOutput).toBe(false);
    expect(accumulator.takeSnapshot()).toBeNull();
    accumulator.push({ text: "a" }, 0);
    expect(accumulator.takeSnapshot()).toBe(" \na");
  });
});

describe("a reply", () => {
  it("skips chunks without output and keeps the rest", async () => {
    proves("MODEL-05");
    using model = new ScriptedModel([
      chunks([
        {},
        { text: "a" },
        {},
        { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
        { text: "b" },
        { finishReason: "stop" },
      ]),
    ]);
    const run = await runAgent({ models: { main: model } });
    expect(run.answer).toBe("ab");
    expect(run.completed.usage?.total_tokens).toBe(2);
  });

  it("joins the pieces of a call whose later pieces have no id", () => {
    proves("MODEL-06");
    const reply = accumulate([
      { calls: [{ id: "c1", name: "exec", arguments: '{"command":' }] },
      { calls: [{ arguments: '"l' }] },
      { calls: [{ arguments: 's"}' }] },
    ]);
    expect(reply.calls).toEqual([{ id: "c1", name: "exec", argumentsText: '{"command":"ls"}', extra: {} }]);
  });

  it("collects other fields as they come: texts and lists grow, the rest is replaced", () => {
    const reply = accumulate([
      { extra: { reasoning_content: "a", reasoning_details: [1], signature: { v: 1 } } },
      { extra: { reasoning_content: "b", reasoning_details: [2], signature: { v: 2 } } },
    ]);
    expect(reply.extra).toEqual({ reasoning_content: "ab", reasoning_details: [1, 2], signature: { v: 2 } });
  });

  it("is empty without answer and call, whatever was thought", () => {
    expect(isEmptyReply(accumulate([]))).toBe(true);
    expect(isEmptyReply(accumulate([{ text: "<think>hm</think> \n" }, { reasoning: "hm" }]))).toBe(true);
    expect(isEmptyReply(accumulate([{ calls: [{ id: "c1" }] }]))).toBe(true);
    expect(isEmptyReply(accumulate([{ calls: [{ name: "exec" }] }]))).toBe(false);
    expect(isEmptyReply(accumulate([{ text: "a" }]))).toBe(false);
  });

  it("is the same however its text is cut", () => {
    const parts = fc.constantFrom(
      "<think>",
      "</think>",
      "<thinking>",
      "a",
      "<",
      " ",
      "\n```\n",
      '<tool_call>{"name":"exec"}</tool_call>',
      "</",
      "你🎉",
    );
    const options = fc.record({
      removeThink: fc.boolean(),
      holdsBack: fc.boolean(),
      offered: fc.constant(new Set(["exec"])),
    });
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 8 }), options, (list, chosen) => {
        const text = list.join("");
        const whole = accumulate([{ text }], chosen);
        for (let cut = 0; cut <= text.length; cut += 1)
          expect(accumulate([{ text: text.slice(0, cut) }, { text: text.slice(cut) }], chosen)).toEqual(
            whole,
          );
      }),
      { numRuns: 60 },
    );
  });
});
