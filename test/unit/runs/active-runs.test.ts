import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ServiceError } from "../../../src/domain/errors.js";
import { ActiveRuns } from "../../../src/runs/active-runs.js";
import { warningsOfListeners } from "../../support/warnings-of-listeners.js";

const STOPPED = new ServiceError("cancelled", "The run was cancelled.");

/** @returns the signal of a run that is over */
function runBriefly(active: ActiveRuns, meanwhile: () => void = () => undefined): AbortSignal {
  using run = active.register("run_1", 1000);
  meanwhile();
  return run.signal;
}

describe("ActiveRuns", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("holds a run until its registration is disposed of", () => {
    const active = new ActiveRuns();
    {
      using _run = active.register("run_1", 1000);
      expect(active.has("run_1")).toBe(true);
      expect(active.size).toBe(1);
    }
    expect(active.has("run_1")).toBe(false);
    expect(active.size).toBe(0);
  });

  it("refuses to register a run twice", () => {
    const active = new ActiveRuns();
    using _run = active.register("run_1", 1000);
    expect(() => active.register("run_1", 1000)).toThrow(expect.objectContaining({ code: "internal" }));
    expect(active.has("run_1")).toBe(true);
  });

  it("aborts with the deadline in the reason when the time is up", () => {
    using run = new ActiveRuns().register("run_1", 90_000);
    vi.advanceTimersByTime(89_999);
    expect(run.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(run.signal.reason).toMatchObject({
      code: "runner.timeout",
      retryable: true,
      message: "The run passed its deadline of 90 s.",
    });
  });

  it("stops one run with the reason given, and the first reason stays", () => {
    const active = new ActiveRuns();
    using one = active.register("run_1", 1000);
    using other = active.register("run_2", 1000);
    expect(active.stop("run_1", STOPPED)).toBe(true);
    expect(active.stop("run_1", new ServiceError("run.interrupted", "Later."))).toBe(true);
    expect(one.signal.reason).toBe(STOPPED);
    expect(other.signal.aborted).toBe(false);
  });

  it("says that a run which is not active cannot be stopped", () => {
    const active = new ActiveRuns();
    runBriefly(active);
    expect(active.stop("run_1", STOPPED)).toBe(false);
    expect(active.stop("run_2", STOPPED)).toBe(false);
  });

  it("stops all of them", () => {
    const active = new ActiveRuns();
    using one = active.register("run_1", 1000);
    using other = active.register("run_2", 1000);
    active.stopAll(STOPPED);
    expect([one.signal.reason, other.signal.reason]).toEqual([STOPPED, STOPPED]);
  });

  it("ends what still works for a run that is over", () => {
    expect(runBriefly(new ActiveRuns()).reason).toMatchObject({ code: "host.not_found" });
  });

  it("knows which runs take messages in while they go on", () => {
    const active = new ActiveRuns();
    active.openToSteering("run_1");
    expect(active.canSteer("run_1")).toBe(false);
    runBriefly(active, () => {
      expect(active.canSteer("run_1")).toBe(false);
      active.openToSteering("run_1");
      expect(active.canSteer("run_1")).toBe(true);
    });
    expect(active.canSteer("run_1")).toBe(false);
  });

  it("lets any number of calls listen to a run at once without a warning of a leak", async () => {
    vi.useRealTimers();
    using run = new ActiveRuns().register("run_1", 1000);
    expect(await warningsOfListeners(run.signal)).toEqual([]);
  });

  it("leaves no timer behind, and the reason of a stopped run as it is", () => {
    const active = new ActiveRuns();
    const signal = runBriefly(active, () => active.stop("run_1", STOPPED));
    expect(vi.getTimerCount()).toBe(0);
    expect(signal.reason).toBe(STOPPED);
  });
});
