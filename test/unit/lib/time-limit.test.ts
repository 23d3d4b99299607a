import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TimeLimit } from "../../../src/lib/time-limit.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("TimeLimit", () => {
  it("aborts with its reason when the time is over", () => {
    using limit = new TimeLimit(() => "too late");
    limit.restart(100);
    vi.advanceTimersByTime(99);
    expect(limit.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(limit.signal.reason).toBe("too late");
  });

  it("gives the whole time again when it is restarted", () => {
    using limit = new TimeLimit(() => "too late");
    limit.restart(100);
    vi.advanceTimersByTime(90);
    limit.restart(100);
    vi.advanceTimersByTime(90);
    expect(limit.signal.aborted).toBe(false);
  });

  it("stands still while it is stopped, and leaves no timer when it is disposed", () => {
    using limit = new TimeLimit(() => "too late");
    limit.restart(100);
    limit.stop();
    vi.advanceTimersByTime(1000);
    limit.restart(100);
    limit[Symbol.dispose]();
    expect(vi.getTimerCount()).toBe(0);
    expect(limit.signal.aborted).toBe(false);
  });

  it("does not strike at once when the time is longer than a timer can hold", () => {
    using limit = new TimeLimit(() => "too late");
    limit.restart(Number.POSITIVE_INFINITY);
    vi.advanceTimersByTime(1000);
    expect(limit.signal.aborted).toBe(false);
  });

  it("starts no timer once it has struck", () => {
    using limit = new TimeLimit(() => "too late");
    limit.restart(1);
    vi.advanceTimersByTime(1);
    limit.restart(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
