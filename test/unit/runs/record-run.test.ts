import { beforeEach, describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import { LocalRunEvents } from "../../../src/adapters/system/local-run-events.js";
import type { Message } from "../../../src/domain/message.js";
import type { RunnerResult } from "../../../src/domain/result.js";
import type { RunEvent } from "../../../src/domain/run.js";
import { SecretMask } from "../../../src/lib/secret-mask.js";
import { RunRecorder } from "../../../src/runs/record-run.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { anOutcome, aRun } from "../../support/records.js";

const run_id = "run_1";
const SECRET = "sk-1234567890";
const USAGE = { model_calls: 2, prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, turns: [] };

function aDelta(content: string): RunnerResult {
  return { type: "message.delta", data: { chunk: { role: "assistant", content } }, run_id };
}

function aMessage(content: Message["content"], more: object = {}): RunnerResult {
  return { type: "message.completed", data: { message: { role: "assistant", content }, ...more }, run_id };
}

function aCall(id: string, assistant?: string | null): RunnerResult {
  const call = { id, type: "function" as const, function: { name: "exec", arguments: "{}" } };
  const assistant_message: Message = { role: "assistant", content: assistant ?? null, tool_calls: [call] };
  return {
    type: "tool.call.started",
    data: {
      tool_call_id: id,
      tool_name: "exec",
      parameters: { command: "ls" },
      ...(assistant === undefined ? {} : { assistant_message }),
    },
    run_id,
  };
}

function anAnswer(id: string, more: object = {}): RunnerResult {
  return { type: "tool.call.completed", data: { tool_call_id: id, tool_name: "exec", ...more }, run_id };
}

function anEnd(data: Extract<RunnerResult, { type: "run.completed" }>["data"] = {}): RunnerResult {
  return { type: "run.completed", data, run_id };
}

describe("RunRecorder", () => {
  const mask = new SecretMask([SECRET]);
  const clock = new FakeClock();
  let stores = openMemoryStores({ clock });
  let events = new LocalRunEvents();
  let recorder = new RunRecorder({ ...stores, events, clock, mask }, aRun());

  beforeEach(async () => {
    stores = openMemoryStores({ clock });
    events = new LocalRunEvents();
    recorder = new RunRecorder({ ...stores, events, clock, mask }, aRun());
    await stores.runs.create(aRun());
  });

  const take = async (...results: readonly RunnerResult[]): Promise<void> => {
    for (const result of results) await recorder.take(result);
  };
  const stored = (): Promise<readonly RunEvent[]> => stores.runs.eventsAfter("run_1", 0, 1000);
  const types = async (): Promise<string[]> => (await stored()).map(({ type }) => type);
  const history = async (): Promise<unknown[]> => {
    const page = { direction: "forward" as const, from: null, limit: 100 };
    const items = await stores.transcripts.page("main", "conversation-1", page);
    return items.map(({ message, partial }) => [message.role, message.content, partial]);
  };

  describe("secrets", () => {
    it("stand in no event and no message of the history", async () => {
      await take(
        aCall("call_1", `I use ${SECRET}`),
        anAnswer("call_1", { result: { stdout: SECRET }, model_text: SECRET }),
        aMessage(`It is ${SECRET}.`, { history_message: { role: "assistant", content: SECRET } }),
        anEnd({ warnings: [{ code: "x", message: SECRET }] }),
      );
      await recorder.emit("tool.output", { text: SECRET });
      const said = JSON.stringify([await stored(), await history(), recorder.progress]);
      expect(said).not.toContain(SECRET);
      expect(said.match(/\[redacted\]/g)?.length).toBeGreaterThan(8);
    });

    it("do not build up in the snapshots of a text that is still written", async () => {
      await take(aDelta("It is sk-1234"), aDelta(`It is ${SECRET}`), aDelta(`It is ${SECRET}!`));
      expect((await stored()).map(({ data }) => JSON.stringify(data))).toEqual(
        ["It is ", "It is [redacted]", "It is [redacted]!"].map((content, index) =>
          JSON.stringify({ chunk: { role: "assistant", content, msg_sequence: index + 1 } }),
        ),
      );
      expect(recorder.progress.text).toBe("It is [redacted]!");
      await take(aDelta("Ends in sk"));
      expect(recorder.progress.text).toBe("Ends in sk");
      const last = aDelta("Ends in sk");
      if (last.type === "message.delta") last.data.chunk.is_final = true;
      await take(last);
      expect((await stored()).at(-1)?.data).toMatchObject({ chunk: { content: "Ends in sk" } });
    });
  });

  describe("events", () => {
    it("are numbered without gaps, carry the time, and wake who waits for them", async () => {
      const woken = events.waitBeyond("run_1", 0, { signal: new AbortController().signal });
      await take(aDelta("a"), aDelta("ab"), aMessage("abc"));
      expect((await stored()).map(({ sequence, timestamp }) => [sequence, timestamp])).toEqual([
        [1, "2023-11-14T22:13:20.000Z"],
        [2, "2023-11-14T22:13:20.000Z"],
        [3, "2023-11-14T22:13:20.000Z"],
      ]);
      await expect(woken).resolves.toBeUndefined();
    });

    it("are stored before their readers are woken", async () => {
      await events.waitBeyond("run_1", 0, { signal: new AbortController().signal });
      const seen = events
        .waitBeyond("run_1", 0, { signal: new AbortController().signal })
        .then(() => types());
      await recorder.emit("run.started", {});
      expect(await seen).toEqual(["run.started"]);
    });

    it("are not added to a run that has ended", async () => {
      await stores.runs.finish("run_1", anOutcome(), () => ({
        type: "run.completed",
        data: {},
        timestamp: "2023-11-14T22:13:20.000Z",
      }));
      await recorder.emit("warning", { code: "late", message: "Late." });
      expect(await types()).toEqual(["run.completed"]);
    });

    it("show calls without what only the history keeps", async () => {
      await take(aCall("c1", "Let me look."), anAnswer("c1", { result: { ok: true }, model_text: "seen" }));
      expect((await stored()).map(({ data }) => data)).toEqual([
        { tool_call_id: "c1", tool_name: "exec", parameters: { command: "ls" } },
        { tool_call_id: "c1", tool_name: "exec", result: { ok: true } },
      ]);
    });

    it("show the message and its files, not what the history keeps instead", async () => {
      const history_message = { role: "assistant", content: "<think>plan</think>Hi" };
      await take(aMessage("Hi", { history_message, file_ids: ["file_1"] }));
      expect((await stored())[0]?.data).toEqual({
        message: { role: "assistant", content: "Hi" },
        file_ids: ["file_1"],
      });
      expect(await history()).toEqual([["assistant", "<think>plan</think>Hi", false]]);
    });

    it("record an action that is asked for, and nothing more comes of it", async () => {
      await take({ type: "action.requested", data: { action: "ban", who: "42" }, run_id });
      expect((await stored()).map(({ type, data }) => [type, data])).toEqual([
        ["action.requested", { action: "ban", who: "42" }],
      ]);
      expect(await history()).toEqual([]);
    });

    it("do not show an end: that is the host's to write", async () => {
      await take(anEnd());
      expect(await types()).toEqual([]);
    });
  });

  describe("transcript", () => {
    it("has the messages of a tool round as the model saw them, in order", async () => {
      await take(
        aCall("c1", "Let me look."),
        anAnswer("c1", { result: { stdout: "a" }, model_text: "a.txt" }),
        aMessage("There is a.txt."),
      );
      expect(await history()).toEqual([
        ["assistant", "Let me look.", false],
        ["tool", "a.txt", false],
        ["assistant", "There is a.txt.", false],
      ]);
    });

    it.each([
      [{ error: "It broke." }, "It broke."],
      [{ result: { a: 1 } }, '{"a":1}'],
      [{}, "null"],
    ])(
      "keeps what a call came to where the runner does not say what the model saw: %o",
      async (data, text) => {
        await take(anAnswer("c1", data));
        expect(await history()).toEqual([["tool", text, false]]);
      },
    );

    it("has one final message, whatever the runner completes after it", async () => {
      await take(
        aMessage("First."),
        aMessage("Second."),
        anEnd({ message: { role: "assistant", content: "Third." } }),
      );
      await recorder.closeTranscript(recorder.progress.text, false);
      expect(await history()).toEqual([["assistant", "First.", false]]);
      expect(await types()).toEqual(["message.completed", "message.completed", "message.completed"]);
    });

    it("gets the last snapshot of a run that only streamed", async () => {
      await take(aDelta("He"), aDelta("Hello"), anEnd());
      await recorder.closeTranscript(recorder.progress.text, false);
      expect(await history()).toEqual([["assistant", "Hello", false]]);
    });

    it("gets the text of a failed run, marked partial", async () => {
      await take(aDelta("Half"));
      await recorder.closeTranscript(recorder.progress.text, true);
      expect(await history()).toEqual([["assistant", "Half", true]]);
    });

    it("gets text of earlier rounds once", async () => {
      await take(aDelta("Before"), aCall("c1", "Before"), anAnswer("c1"), aDelta("Before\n\nAft"));
      await recorder.closeTranscript(recorder.progress.text, true);
      expect(await history()).toEqual([
        ["assistant", "Before", false],
        ["tool", "null", false],
        ["assistant", "Aft", true],
      ]);
    });

    it("gets nothing from a run that had nothing more to say", async () => {
      await take(aDelta("Before"), aCall("c1", "Before"), anAnswer("c1"));
      await recorder.closeTranscript(recorder.progress.text, true);
      expect(await history()).toHaveLength(2);
    });

    it("keeps no inline bytes, and neither do the events", async () => {
      const content = [{ type: "image_url" as const, image_url: { url: "data:image/png;base64,QUJD" } }];
      await take(aMessage(content));
      expect(JSON.stringify([await history(), await stored()])).not.toContain("QUJD");
      expect(await history()).toEqual([
        ["assistant", [{ type: "text", text: "[image image/png: inline content left out]" }], false],
      ]);
    });
  });

  describe("progress", () => {
    it("begins with nothing", () => {
      expect(recorder.progress).toMatchObject({
        text: "",
        verdict: null,
        warnings: [],
        model: null,
        toolRounds: 0,
        hasCompleteMessage: false,
      });
    });

    it("does not take a message with calls for a complete one", async () => {
      await take(aCall("c1", "Let me look."));
      expect(recorder.progress).toMatchObject({ hasCompleteMessage: false, text: "Let me look." });
    });

    it("takes a message without text for a complete one", async () => {
      await take(aMessage(null));
      expect(recorder.progress).toMatchObject({ hasCompleteMessage: true, text: "" });
    });

    it("joins complete messages where nothing was streamed", async () => {
      await take(aCall("c1", "Before"), anAnswer("c1"), aMessage("After"));
      expect(recorder.progress.text).toBe("Before\n\nAfter");
    });

    it("reads the text of a message in parts", async () => {
      await take(
        aMessage([
          { type: "text", text: "One" },
          { type: "text", text: "two" },
        ]),
      );
      expect(recorder.progress.text).toBe("One two");
    });

    it("delivers the message of the end, but not twice the same", async () => {
      await take(anEnd({ message: { role: "assistant", content: "Hi" } }));
      expect(recorder.progress.text).toBe("Hi");
      expect(await history()).toEqual([["assistant", "Hi", false]]);
      const again = new RunRecorder({ ...stores, events, clock, mask }, aRun());
      await again.take(aMessage("Hi"));
      await again.take(anEnd({ message: { role: "assistant", content: "Hi" } }));
      expect(again.progress.text).toBe("Hi");
    });

    it("keeps finish reason, model, rounds and usage of the end", async () => {
      await take({
        ...anEnd({ finish_reason: "max_iterations", model: "main", tool_rounds: 3 }),
        usage: USAGE,
      });
      expect(recorder.progress).toMatchObject({
        verdict: { state: "completed", finishReason: "max_iterations" },
        model: "main",
        toolRounds: 3,
        usage: USAGE,
      });
    });

    it("reads an end without a reason as stop", async () => {
      await take(anEnd());
      expect(recorder.progress.verdict).toEqual({ state: "completed", finishReason: "stop" });
    });

    it("counts batches itself where the runner does not", async () => {
      await take(aCall("c1", "One"), aCall("c2"), anAnswer("c1"), anAnswer("c2"), aCall("c3", null), anEnd());
      expect(recorder.progress.toolRounds).toBe(2);
    });

    it("keeps what a failure says, with usage and model so far", async () => {
      const data = { error: "No.", code: "runner.llm_error", retryable: true, hint: "Later.", model: "main" };
      await take({ type: "run.failed", data, run_id, usage: USAGE });
      expect(recorder.progress).toMatchObject({
        verdict: {
          state: "failed",
          error: { code: "runner.llm_error", message: "No.", retryable: true, hint: "Later." },
        },
        model: "main",
        usage: USAGE,
      });
    });

    it("carries warnings of the runner, of its end and of the host", async () => {
      await take({ type: "warning", data: { code: "a", message: "A." }, run_id });
      await recorder.warn({ code: "b", message: "B." });
      await take(anEnd({ warnings: [{ code: "c", message: "C." }] }));
      expect(recorder.progress.warnings.map(({ code }) => code)).toEqual(["a", "b", "c"]);
      expect(await types()).toEqual(["warning", "warning", "warning"]);
    });

    it("shows what was put into the state, which is no part of the reply", async () => {
      await take({ type: "state.updated", data: { scope: "actor", key: "k", value: 1 }, run_id });
      expect(await types()).toEqual(["state.updated"]);
      expect(recorder.progress).toMatchObject({ text: "", warnings: [], hasCompleteMessage: false });
    });

    it("carries a hundred warnings of bounded length, and says that there were more", async () => {
      for (let i = 0; i < 150; i += 1) await recorder.warn({ code: "w", message: "x".repeat(5000) });
      const { warnings } = recorder.progress;
      expect(warnings).toHaveLength(101);
      expect(warnings[0]?.message).toHaveLength(2000);
      expect(warnings.at(-1)).toEqual({
        code: "run.more_warnings",
        message: "Warnings after the first 100 are left out.",
      });
      expect(await types()).toHaveLength(101);
    });
  });
});
