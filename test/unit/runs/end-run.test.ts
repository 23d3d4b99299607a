import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/domain/errors.js";
import { runSchema } from "../../../src/domain/run.js";
import { NO_USAGE } from "../../../src/domain/usage.js";
import {
  decideOutcome,
  type EndInputs,
  failedOutcome,
  terminalEvent,
  toRunError,
  undeliveredError,
} from "../../../src/runs/end-run.js";
import type { RunnerVerdict, RunProgress } from "../../../src/runs/record-run.js";
import { aFile, anOutcome, aRun } from "../../support/records.js";

const COMPLETED: RunnerVerdict = { state: "completed", finishReason: "loop" };
const FAILED: RunnerVerdict = {
  state: "failed",
  error: { code: "runner.llm_error", message: "No.", retryable: true, hint: "Later." },
};
const USAGE = { model_calls: 1, prompt_tokens: 2, completion_tokens: 3, total_tokens: 5, turns: [] };

function progress(fields: Partial<RunProgress> = {}): RunProgress {
  return {
    text: "Hello",
    verdict: COMPLETED,
    warnings: [],
    usage: NO_USAGE,
    model: "main",
    toolRounds: 2,
    hasCompleteMessage: true,
    ...fields,
  };
}

function inputs(fields: Partial<EndInputs> = {}): EndInputs {
  return {
    run: aRun(),
    progress: progress(),
    failure: null,
    countedUsage: NO_USAGE,
    attachments: [],
    outboxLeft: [],
    files: [],
    endedAt: 9000,
    exceptions: "show-hint",
    ...fields,
  };
}

const PENDING = {
  index: 0,
  name: "a.txt",
  path: null,
  bytes: 3,
  mime_type: "text/plain",
  state: "pending" as const,
  reason: null,
};
const IMPORTED = { ...PENDING, index: 1, state: "imported" as const, path: "/workspace/inbox/run_1/1/a.txt" };

describe("attachments of a run that has ended", () => {
  const session = { id: "ses_1" as const, key: "person_42" };
  const failures = [null, new ServiceError("cancelled", "x"), new ServiceError("runner.timeout", "x")];

  it.each(failures)("are imported, or refused with the reason: %s", (failure) => {
    const end = (run: ReturnType<typeof aRun>) =>
      decideOutcome(inputs({ run, failure, attachments: [PENDING, IMPORTED] })).attachments;
    expect(end(aRun({ session: null }))).toEqual([
      { ...PENDING, state: "refused", reason: "The run had no box to put it into." },
      IMPORTED,
    ]);
    expect(end(aRun({ session }))).toEqual([
      { ...PENDING, state: "refused", reason: "The run ended before it was in the box." },
      IMPORTED,
    ]);
  });

  it("are so where only the record is left", () => {
    const run = aRun({ session, attachments: [PENDING, IMPORTED] });
    const error = new ServiceError("run.interrupted", "x");
    expect(
      failedOutcome({ run, error, text: "", endedAt: 1, exceptions: "show-hint" }).attachments,
    ).toMatchObject([
      { state: "refused", reason: "The run ended before it was in the box." },
      { state: "imported" },
    ]);
  });
});

describe("decideOutcome", () => {
  it("completes a run whose runner said so", () => {
    expect(decideOutcome(inputs())).toMatchObject({
      state: "completed",
      endedAt: 9000,
      message: { content: "Hello", partial: false },
      finishReason: "loop",
      model: "main",
      toolRounds: 2,
      error: null,
    });
  });

  it("fails a run whose runner said so, and keeps its text as partial", () => {
    const outcome = decideOutcome(inputs({ progress: progress({ verdict: FAILED }) }));
    expect(outcome).toMatchObject({
      state: "failed",
      message: { content: "Hello", partial: true },
      finishReason: null,
      error: { code: "runner.llm_error", message: "No.", retryable: true, hint: "Later." },
    });
  });

  it("takes a stream that ended after a complete message for completed", () => {
    const outcome = decideOutcome(inputs({ progress: progress({ verdict: null }) }));
    expect(outcome).toMatchObject({ state: "completed", error: null, finishReason: null });
  });

  it("takes a stream that ended without one for a breach of the protocol; its text stays", () => {
    const unfinished = progress({ verdict: null, hasCompleteMessage: false });
    expect(decideOutcome(inputs({ progress: unfinished }))).toMatchObject({
      state: "failed",
      message: { content: "Hello", partial: true },
      error: { code: "runner.protocol", retryable: false },
    });
  });

  it.each([
    ["runner.timeout", "timeout"],
    ["cancelled", "cancelled"],
    ["runner.error", "failed"],
    ["run.interrupted", "failed"],
    ["box.engine_unavailable", "failed"],
  ] as const)("ends with the state that fits a failure of %s", (code, state) => {
    const outcome = decideOutcome(inputs({ failure: new ServiceError(code, "Why.") }));
    expect(outcome).toMatchObject({ state, error: { code, message: "Why." }, finishReason: null });
  });

  it("takes a failure for more than what the runner said before", () => {
    const failure = new ServiceError("cancelled", "The run was cancelled.");
    expect(decideOutcome(inputs({ failure })).state).toBe("cancelled");
  });

  it("says nothing of the inside of an unexpected failure", () => {
    const failure = new Error("ENOENT /srv/secret/path");
    expect(decideOutcome(inputs({ failure })).error).toEqual({
      code: "internal",
      message: "The service failed in an unexpected way.",
      notice: "The request failed.",
      retryable: false,
    });
  });

  it("has no message where there is no text", () => {
    expect(decideOutcome(inputs({ progress: progress({ text: "" }) })).message).toBeNull();
  });

  it("replaces links into the box, except that a cancelled run has delivered nothing", () => {
    const text = "[a](/workspace/outbox/run_1/chart.png)";
    const ended = inputs({ progress: progress({ text }), files: [aFile()] });
    expect(decideOutcome(ended).message?.content).toBe("[a](/v1/files/file_1/content)");
    const failure = new ServiceError("cancelled", "The run was cancelled.");
    expect(decideOutcome({ ...ended, failure }).message?.content).toBe("a (not delivered)");
  });

  it("takes the usage that the host counted, and the runner's where the host counted none", () => {
    const reported = progress({ usage: { ...USAGE, model_calls: 9 } });
    expect(decideOutcome(inputs({ progress: reported })).usage.model_calls).toBe(9);
    expect(decideOutcome(inputs({ progress: reported, countedUsage: USAGE })).usage).toEqual(USAGE);
  });

  it("fails a run of which a file was reported as undeliverable while it was going on; its text is whole", () => {
    const outcome = decideOutcome(inputs({ files: [aFile(), aFile({ id: "file_2", state: "failed" })] }));
    expect(outcome).toMatchObject({
      state: "failed",
      message: { partial: false },
      finishReason: "loop",
      error: {
        code: "delivery.failed",
        message: 'The file "chart.png" could not be sent to the user.',
        retryable: false,
      },
    });
  });
});

describe("undeliveredError", () => {
  it("carries what the receiver said, in bounds", () => {
    expect(undeliveredError(aFile(), "x".repeat(1000)).details).toEqual({ detail: "x".repeat(500) });
    expect(undeliveredError(aFile(), null)).not.toHaveProperty("details");
  });
});

describe("toRunError", () => {
  it("keeps hint and details, and leaves out what is not there", () => {
    const full = new ServiceError("box.capacity", "Full.", { hint: "Wait.", details: { limit: 8 } });
    expect(toRunError(full)).toEqual({
      code: "box.capacity",
      message: "Full.",
      retryable: true,
      hint: "Wait.",
      details: { limit: 8 },
    });
    expect(toRunError(new ServiceError("runner.error", "No."))).toEqual({
      code: "runner.error",
      message: "No.",
      retryable: false,
    });
  });
});

describe("failedOutcome", () => {
  it("ends a run of which only the ledger row is left", () => {
    const run = aRun({ model: "main", toolRounds: 2, warnings: [{ code: "w", message: "W." }] });
    const error = new ServiceError("run.interrupted", "Stopped.");
    expect(failedOutcome({ run, error, text: "Half", endedAt: 9000, exceptions: "show-hint" })).toMatchObject(
      {
        state: "failed",
        endedAt: 9000,
        message: { content: "Half", partial: true },
        model: "main",
        toolRounds: 2,
        warnings: run.warnings,
        error: { code: "run.interrupted", retryable: true },
      },
    );
    expect(
      failedOutcome({ run, error, text: "", endedAt: 9000, exceptions: "show-hint" }).message,
    ).toBeNull();
  });
});

describe("terminalEvent", () => {
  it.each([
    ["completed", "run.completed"],
    ["failed", "run.failed"],
    ["timeout", "run.failed"],
    ["cancelled", "run.cancelled"],
  ] as const)("of a run that is %s is %s, with the run object as data", (state, type) => {
    const event = terminalEvent({ ...aRun(), ...anOutcome({ state }) }, [aFile()]);
    expect(event).toMatchObject({ type, timestamp: "1970-01-01T00:00:09.000Z" });
    expect(runSchema.parse(event.data)).toMatchObject({ id: "run_1", status: state });
  });
});
