import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type FailureKind,
  nextStep,
  type WalkState,
} from "../../../../src/runners/local-agent/failure-policy.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import {
  calls,
  chunks,
  cutAfter,
  failure,
  rateLimited,
  ScriptedModel,
  text,
  throwing,
} from "../../../fakes/scripted-model.js";
import { proves } from "../../../support/proves.js";
import { textLike } from "../../../support/text-like.js";
import { type AgentSetup, aModel, BOTH_MODES, runAgent, textWith } from "./run-agent.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Runs on fake time, so that waits before retries pass at once. */
async function run(setup: AgentSetup) {
  const running = runAgent(setup);
  await vi.advanceTimersByTimeAsync(60_000);
  return running;
}

describe.each(BOTH_MODES)("candidates, $mode", ({ streaming }) => {
  it("go on to the fallback, which then answers all turns", async () => {
    proves("MODEL-01");
    using main = new ScriptedModel([failure("model.unavailable")]);
    using backup = new ScriptedModel([calls([{ name: "look" }]), text("From the backup.")]);
    const ended = await run({ streaming, models: { main, backup }, tools: { look: {} } });
    expect(ended.answer).toBe("From the backup.");
    expect(ended.completed.data.model).toBe("backup");
  });

  it("go on when the primary fails before it gave anything, or gives nothing", async () => {
    proves("MODEL-02", "MODEL-03");
    for (const step of [failure("model.timeout"), text(""), chunks([])]) {
      using main = new ScriptedModel([step]);
      using backup = new ScriptedModel([text("Here.")]);
      const ended = await run({ streaming, models: { main, backup } });
      expect(ended.answer).toBe("Here.");
    }
  });

  it("go on at once when the primary is asked too often, with one line in the trace", async () => {
    proves("MODEL-13");
    using main = new ScriptedModel([rateLimited()]);
    using backup = new ScriptedModel([text("Here.")]);
    const ended = await runAgent({ streaming, models: { main, backup } });
    expect(ended.answer).toBe("Here.");
    expect(ended.trace).toEqual([
      {
        code: "model.fallback",
        message: textLike(/^The model main failed.*Too many requests\..*backup is asked/),
      },
    ]);
  });

  it("go on after a stream that showed nothing and broke", async () => {
    proves("MODEL-15");
    using main = new ScriptedModel([failure("model.stream_failed", { after: [{}, { text: "" }] })]);
    using backup = new ScriptedModel([text("Here.")]);
    const ended = await run({ streaming, models: { main, backup } });
    expect(ended.answer).toBe("Here.");
    expect(new Set(ended.snapshots)).toEqual(new Set(streaming ? ["Here."] : []));
  });

  it("all fail in the end, with the last error, retryable", async () => {
    using main = new ScriptedModel([failure("model.request_refused", { message: "Bad field." })]);
    using backup = new ScriptedModel([failure("model.credentials_refused", { message: "Bad key." })]);
    const ended = await run({ streaming, models: { main, backup } });
    expect(ended.failed.data).toMatchObject({
      code: "runner.llm_error",
      error: "All models failed. Last error: Bad key.",
      retryable: true,
    });
  });

  it("are asked again only when they may answer later: after about 1 s and 3 s", async () => {
    using main = new ScriptedModel([rateLimited(), failure("model.unavailable"), text("At last.")]);
    const running = runAgent({ streaming, models: { main } });
    await vi.advanceTimersByTimeAsync(999);
    expect(main.requests).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(main.requests).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(3000);
    expect((await running).answer).toBe("At last.");
  });

  it("are not waited for longer than the run has left", async () => {
    using main = new ScriptedModel([rateLimited()]);
    const ended = await runAgent({ streaming, models: { main }, clock: new FakeClock(), deadlineSec: 0.5 });
    expect(ended.failed.data.code).toBe("runner.llm_error");
  });

  it("say in a later turn what was done before it", async () => {
    using main = new ScriptedModel([
      calls([{ name: "export_box_files" }, { name: "look" }]),
      rateLimited(),
      rateLimited(),
      rateLimited(),
    ]);
    const ended = await run({ streaming, models: { main }, tools: { export_box_files: {}, look: {} } });
    expect(ended.failed.data).toMatchObject({ code: "runner.llm_error", tool_rounds: 1 });
    expect(ended.failed.data.error).toMatch(
      /Too many requests\. Done before that: 1 tool round \(export_box_files 1, look 1\)\./,
    );
  });

  it("are reminded once of an empty reply, then the run fails: never an empty success", async () => {
    proves("WIRE-15", "WIRE-16");
    for (const empty of [chunks([{ finishReason: "tool_calls" }]), text("", { finishReason: "stop" })]) {
      using first = new ScriptedModel([empty, empty]);
      const atOnce = await run({ streaming, models: { first } });
      expect(atOnce.failed.data).toMatchObject({ code: "runner.empty_reply", retryable: true });
      expect(first.request().messages.at(-1)?.content).toContain("empty");
      using later = new ScriptedModel([calls([{ name: "look" }]), empty, empty]);
      const afterTools = await run({ streaming, models: { later }, tools: { look: {} } });
      expect(afterTools.failed.data.code).toBe("runner.empty_reply");
      expect(afterTools.failed.data.error).toContain("Done before that");
    }
  });

  it("may recover after the reminder, which is not kept", async () => {
    using main = new ScriptedModel([text(""), calls([{ name: "look" }]), text("Here.")]);
    const ended = await run({ streaming, models: { main }, tools: { look: {} } });
    expect(ended.answer).toBe("Here.");
    expect(main.request(2).messages.map(({ content }) => content)).not.toContainEqual(textWith("empty"));
  });

  it("are not asked any more when the host has no time left, or when our own code fails", async () => {
    using main = new ScriptedModel([failure("host.deadline_exceeded")]);
    const late = await run({ streaming, models: { main, backup: new ScriptedModel([]) } });
    expect(late.failed.data.code).toBe("runner.timeout");
    using broken = new ScriptedModel([
      throwing(new TypeError("x is not a function at /srv/app/dist/main.js")),
    ]);
    const ours = await run({ streaming, models: { broken, backup: new ScriptedModel([]) } });
    expect(ours.failed.data).toMatchObject({ code: "runner.error", retryable: false });
    expect(ours.failed.data.error).not.toContain("/srv/app");
  });

  it("follow an overflow only with a larger window", async () => {
    const overflow = failure("model.context_overflow", { message: "Too long." });
    const resources = [8, 4, 16].map((window, i) => aModel(`m${i}`, { context_window: window }));
    using m0 = new ScriptedModel([overflow]);
    using m2 = new ScriptedModel([text("It fits.")]);
    const fits = await run({ streaming, models: { m0, m1: new ScriptedModel([]), m2 }, resources });
    expect(fits.answer).toBe("It fits.");
    using alone = new ScriptedModel([overflow]);
    const fails = await run({ streaming, models: { alone } });
    expect(fails.failed.data).toMatchObject({ code: "runner.context_overflow", retryable: false });
  });

  it("get images as notes when the request was too large, once", async () => {
    using main = new ScriptedModel([failure("model.request_too_large"), text("Smaller.")]);
    const ended = await run({
      streaming,
      models: { main },
      resources: [aModel("main", { abilities: ["vision"] })],
      input: {
        text: "Look",
        contents: [{ type: "attachment", reference: "attachment-0" }],
        attachments: [
          {
            reference: "attachment-0",
            type: "image",
            source: "base64",
            url: null,
            id: null,
            name: "a.png",
            mime_type: "image/png",
            size: 3,
            path: null,
          },
        ],
      },
      images: { "attachment-0": { mimeType: "image/png", base64: "QUJD", sizeBytes: 3 } },
    });
    expect(ended.answer).toBe("Smaller.");
    expect(JSON.stringify(main.request(0))).toContain("QUJD");
    expect(JSON.stringify(main.request(1))).not.toContain("QUJD");
  });

  it("are asked the one way that they permit", async () => {
    using main = new ScriptedModel([text("a")]);
    const operation = streaming ? ("invoke" as const) : ("stream" as const);
    await run({ streaming, models: { main }, resources: [aModel("main", { operations: [operation] })] });
    expect(main.modes).toEqual([operation === "invoke" ? "complete" : "stream"]);
  });
});

describe("a failure after text was shown", () => {
  it("is final: no second model, and what was shown stays", async () => {
    proves("MODEL-04", "MODEL-16");
    using main = new ScriptedModel([cutAfter("two ", "pieces")]);
    using backup = new ScriptedModel([]);
    const ended = await run({ models: { main, backup } });
    expect(ended.failed.data).toMatchObject({ code: "runner.llm_error", retryable: false, model: "main" });
    expect(ended.failed.data.error).toContain("no fallback possible");
    expect(ended.snapshots).toEqual(["two pieces"]);
    expect(ended.messages).toEqual([]);
  });

  it("is an ordinary failure where nothing is shown before the end", async () => {
    using main = new ScriptedModel([cutAfter("half")]);
    using backup = new ScriptedModel([text("Whole.")]);
    const ended = await run({ streaming: false, models: { main, backup } });
    expect(ended.answer).toBe("Whole.");
  });

  it("is retried on the committed model when only call data had come", async () => {
    using main = new ScriptedModel([
      failure("model.stream_failed", { after: [{ calls: [{ index: 0, name: "look" }] }] }),
      text("Again."),
    ]);
    const ended = await run({ models: { main, backup: new ScriptedModel([]) } });
    expect(ended.answer).toBe("Again.");
  });
});

describe("the decision", () => {
  const STATE: WalkState = {
    isShown: false,
    isLast: true,
    hasLargerCandidate: false,
    hasImages: false,
    retries: 0,
    isReminded: false,
    waitLeftMs: 10_000,
  };
  const decide = (kind: FailureKind, state: Partial<WalkState> = {}) =>
    nextStep(kind, { ...STATE, ...state });

  it.each<[FailureKind, Partial<WalkState>, ReturnType<typeof nextStep>]>([
    ["transient", {}, { step: "retry", waitMs: 1000 }],
    ["transient", { retries: 1 }, { step: "retry", waitMs: 3000 }],
    ["transient", { retries: 2 }, { step: "fail", as: "all" }],
    ["transient", { waitLeftMs: 1000 }, { step: "fail", as: "all" }],
    ["transient", { isLast: false }, { step: "next_candidate" }],
    ["transient", { isShown: true, isLast: false }, { step: "fail", as: "shown" }],
    ["passing", {}, { step: "fail", as: "all" }],
    ["refused", { isLast: false }, { step: "next_candidate" }],
    ["too_large", { hasImages: true }, { step: "drop_images" }],
    ["too_large", {}, { step: "fail", as: "all" }],
    ["overflow", { hasImages: true, hasLargerCandidate: true, isLast: false }, { step: "drop_images" }],
    ["overflow", { hasLargerCandidate: true, isLast: false }, { step: "larger_candidate" }],
    ["overflow", { isLast: false }, { step: "fail", as: "overflow" }],
    ["empty", { isLast: false }, { step: "next_candidate" }],
    ["empty", {}, { step: "remind" }],
    ["empty", { isReminded: true }, { step: "fail", as: "empty" }],
    ["stop", { isLast: false }, { step: "fail", as: "stop" }],
    ["ours", { isLast: false }, { step: "fail", as: "ours" }],
  ])("after %s with %o", (kind, state, step) => {
    expect(decide(kind, state)).toEqual(step);
  });
});
