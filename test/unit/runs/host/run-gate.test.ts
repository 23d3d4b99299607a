import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../../src/domain/errors.js";
import { RunGate } from "../../../../src/runs/host/run-gate.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";

function aGate(): { gate: RunGate; run: AbortController; logger: KeptLogger } {
  const run = new AbortController();
  const logger = new KeptLogger();
  return { run, logger, gate: new RunGate({ runId: "run_1", signal: run.signal, logger }) };
}

describe("RunGate", () => {
  it("lets calls through while the run is going on", () => {
    expect(() => aGate().gate.check()).not.toThrow();
  });

  it("does not find the run once it has ended", () => {
    const { gate } = aGate();
    gate.close();
    expect(() => gate.check()).toThrow(
      expect.objectContaining({
        code: "host.not_found",
        message: "Run session not found: the run has ended.",
      }),
    );
  });

  it("has no time left for anything once the deadline has passed", () => {
    const { gate, run } = aGate();
    run.abort(new ServiceError("runner.timeout", "The run passed its deadline."));
    expect(() => gate.check()).toThrow(
      expect.objectContaining({ code: "host.deadline_exceeded", retryable: true }),
    );
  });

  it("says why a run was stopped otherwise", () => {
    const { gate, run } = aGate();
    run.abort(new ServiceError("cancelled", "The run was cancelled."));
    expect(() => gate.check()).toThrow(expect.objectContaining({ code: "cancelled" }));
  });

  it("keeps what was authorised after the end, and the deadline before it", () => {
    const { gate, run } = aGate();
    run.abort(new ServiceError("runner.timeout", "The run passed its deadline."));
    expect(() => gate.checkAuthorisation()).toThrow(
      expect.objectContaining({ code: "host.deadline_exceeded" }),
    );
    gate.close();
    expect(() => gate.checkAuthorisation()).not.toThrow();
  });

  it("refuses in words that say so, and logs it once", () => {
    const { gate, logger } = aGate();
    expect(gate.refuse('the tool "exec"')).toMatchObject({
      code: "host.unauthorized",
      message: 'This run is not authorized for the tool "exec".',
    });
    expect(logger.lines).toMatchObject([
      { level: "warn", fields: { runId: "run_1", code: "host.unauthorized" } },
    ]);
  });

  it("ends a call with the run and with the call's own signal, and lets go of both", () => {
    const { gate, run } = aGate();
    const call = new AbortController();
    {
      using linked = gate.link(call);
      expect(linked.signal.aborted).toBe(false);
      run.abort(new Error("stopped"));
      expect(linked.signal.reason).toEqual(new Error("stopped"));
    }
    expect(getEventListeners(call.signal, "abort")).toHaveLength(0);
    expect(getEventListeners(run.signal, "abort")).toHaveLength(0);
    using other = aGate().gate.link({ signal: AbortSignal.abort(new Error("own")) });
    expect(other.signal.reason).toEqual(new Error("own"));
  });
});
