import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PeriodicTask } from "../../../src/lib/periodic-task.js";
import { warningsOfListeners } from "../../support/warnings-of-listeners.js";

let rounds: number;
let errors: unknown[];

beforeEach(() => {
  vi.useFakeTimers();
  rounds = 0;
  errors = [];
});

afterEach(() => {
  vi.useRealTimers();
});

const aTask = (work: (signal: AbortSignal) => Promise<void>) =>
  new PeriodicTask({ everyMs: 1000, work, onError: (error) => void errors.push(error) });

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve());
  });

describe("PeriodicTask", () => {
  it("repeats its work after each pause, and does nothing before it is started", async () => {
    await using task = aTask(async () => void (rounds += 1));
    await vi.advanceTimersByTimeAsync(5000);
    expect(rounds).toBe(0);
    task.start();
    task.start();
    await vi.advanceTimersByTimeAsync(3500);
    expect(rounds).toBe(3);
  });

  it("lets any number of calls of a round listen for its end", async () => {
    await using task = aTask(async (signal) => void seen.push(signal));
    const seen: AbortSignal[] = [];
    task.start();
    await vi.advanceTimersByTimeAsync(1000);
    vi.useRealTimers();
    expect(await warningsOfListeners(seen[0] ?? new AbortController().signal)).toEqual([]);
  });

  it("reports a round that fails and goes on", async () => {
    await using task = aTask(async () => {
      rounds += 1;
      throw new Error(`round ${rounds}`);
    });
    task.start();
    await vi.advanceTimersByTimeAsync(2500);
    expect(errors.map(String)).toEqual(["Error: round 1", "Error: round 2"]);
  });

  it("never starts a round before the one before has ended", async () => {
    await using task = aTask(async (signal) => {
      rounds += 1;
      await aborted(signal);
    });
    task.start();
    await vi.advanceTimersByTimeAsync(9000);
    expect(rounds).toBe(1);
  });

  it("stops the round that is going on when it is disposed of, waits for it, and reports no failure of that", async () => {
    let ended = false;
    await using task = aTask(async (signal) => {
      await aborted(signal);
      ended = true;
      throw new Error("stopped");
    });
    task.start();
    await vi.advanceTimersByTimeAsync(1000);
    await task[Symbol.asyncDispose]();
    await task[Symbol.asyncDispose]();
    expect([ended, errors, vi.getTimerCount()]).toEqual([true, [], 0]);
  });
});
