import { describe, expect, it } from "vitest";
import { EXCEPTION_HANDLING, type ExceptionHandling } from "../../../src/domain/binding.js";
import { ERROR_CODES, ServiceError } from "../../../src/domain/errors.js";
import {
  exceptionHandlingOf,
  FILE_UNDELIVERED,
  noticeOf,
  REQUEST_FAILED,
  RUNNER_MISSING,
  RUNNER_REFUSED,
  TRY_AGAIN,
  withNotice,
} from "../../../src/runs/user-notice.js";
import { completed, delta, failed, message, ScriptedRunner } from "../../fakes/scripted-runner.js";
import { aDescriptor, aPipeline, aRequest, CALLER, pipelinesOf } from "../../support/builders.js";
import { proves } from "../../support/proves.js";
import { aRun } from "../../support/records.js";
import { aRunWorld, NEVER } from "../../support/run-world.js";

const CALL = { signal: NEVER };

function told(code: string, retryable: boolean, handling: ExceptionHandling = "show-hint"): string | null {
  return noticeOf({ code, message: "Technical.", retryable }, handling);
}

function noRoom(): never {
  throw new ServiceError("box.capacity", "There is no room for a box.");
}

describe("the notice of an error", () => {
  it.each(EXCEPTION_HANDLING)(
    "is that of the case where a runner failed, whatever the setting: %s",
    (mode) => {
      expect(told("runner.not_found", false, mode)).toBe(RUNNER_MISSING);
      expect(told("runner.not_authorized", false, mode)).toBe(RUNNER_REFUSED);
      for (const code of ["runner.timeout", "runner.llm_error", "runner.external.dify.rate_limited", "own"]) {
        expect(told(code, true, mode)).toBe(TRY_AGAIN);
        expect(told(code, false, mode)).toBe(REQUEST_FAILED);
      }
    },
  );

  it.each(["internal", "box.capacity", "run.interrupted", "runner.protocol", "delivery.failed"])(
    "goes by the setting where it is another: %s",
    (code) => {
      expect(told(code, false, "show-error")).toBe("Technical.");
      expect(told(code, false, "hide")).toBeNull();
      expect(told(code, false)).toBe(code === "delivery.failed" ? FILE_UNDELIVERED : REQUEST_FAILED);
    },
  );

  it("asks to try again where that may help", () => {
    expect(told("run.interrupted", true)).toBe(TRY_AGAIN);
  });

  it("is there for each code but that of a cancel", () => {
    for (const code of Object.keys(ERROR_CODES))
      expect(told(code, false, "show-error") === null).toBe(code === "cancelled");
  });

  it("is added to the error, which stays as it is", () => {
    const error = { code: "runner.error", message: "Why.", retryable: false };
    expect(withNotice(error, "hide")).toEqual({ ...error, notice: REQUEST_FAILED });
    expect(withNotice({ ...error, code: "internal" }, "hide")).toEqual({ ...error, code: "internal" });
    expect(withNotice(null, "show-hint")).toBeNull();
  });

  it("goes by the run's pipeline, and by the default where that is gone", () => {
    const pipelines = pipelinesOf(aPipeline({ id: "quiet", exceptionHandling: "hide" }));
    expect(exceptionHandlingOf(pipelines, "quiet")).toBe("hide");
    expect(exceptionHandlingOf(pipelines, "gone")).toBe("show-hint");
  });
});

describe("a run that cannot answer", () => {
  it("ends handling with the notice of an execution error, in the run and in the last event of its stream", async () => {
    proves("FLOW-15");
    const cases = [
      { retryable: true, notice: "The service is temporarily unavailable. Please try again." },
      { retryable: false, notice: "The request failed." },
    ];
    for (const { retryable, notice } of cases)
      for (const surface of ["rest", "sse"] as const) {
        const runner = new ScriptedRunner({ results: [failed("runner.llm_error", { retryable })] });
        await using world = aRunWorld({ runner });
        const { run } = await world.serve.admit(aRequest({ surface }), CALLER, CALL);
        const ended = await world.serve.wait(CALLER, run.id, CALL);
        const error = { code: "runner.llm_error", message: "It failed.", retryable, notice };
        expect(ended).toMatchObject({ status: "failed", message: null, error });
        const events = await world.eventsOf(run.id);
        expect(events.map(({ type }) => type)).toEqual(["run.started", "run.failed"]);
        expect(events.at(-1)?.data).toMatchObject({ message: null, error });
      }
  });

  it("keeps the text that was shown before it failed, beside the notice", async () => {
    const runner = new ScriptedRunner({ results: [delta("Half"), failed("runner.llm_error")] });
    await using world = aRunWorld({ runner });
    expect(await world.execute(aRun())).toMatchObject({
      message: { content: "Half", partial: true },
      error: { notice: REQUEST_FAILED },
    });
  });

  it.each<[ExceptionHandling, string | undefined]>([
    ["show-error", "There is no room for a box."],
    ["show-hint", TRY_AGAIN],
    ["hide", undefined],
  ])("tells of a failure of the service as its pipeline says: %s", async (exceptionHandling, notice) => {
    const pipelines = [aPipeline({ exceptionHandling })];
    await using world = aRunWorld({ pipelines, runner: new ScriptedRunner({ play: noRoom }) });
    const { error } = await world.execute(aRun());
    expect(error).toMatchObject({ code: "box.capacity", message: "There is no room for a box." });
    expect(error?.notice).toBe(notice);
  });
});

describe("a run that does not stream", () => {
  it("keeps its complete messages in order, and is handled with one answer at its end", async () => {
    proves("FLOW-14");
    for (const surface of ["rest", "sse"] as const) {
      const descriptor = aDescriptor({ capabilities: { streaming: false } });
      const results = [message("First."), message("Second."), completed()];
      await using world = aRunWorld({ runner: new ScriptedRunner({ descriptor, results }) });
      const { run } = await world.serve.admit(aRequest({ surface }), CALLER, CALL);
      const ended = await world.serve.wait(CALLER, run.id, CALL);
      expect(ended).toMatchObject({ status: "completed", error: null });
      expect(ended.message).toEqual({ role: "assistant", content: "First.\n\nSecond." });
      const events = await world.eventsOf(run.id);
      expect(events.map(({ type, data }) => [type, data["message"]])).toEqual([
        ["run.started", undefined],
        ["message.completed", { role: "assistant", content: "First." }],
        ["message.completed", { role: "assistant", content: "Second." }],
        ["run.completed", ended.message],
      ]);
    }
  });
});
