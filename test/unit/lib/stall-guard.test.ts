import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { StallGuard } from "../../../src/lib/stall-guard.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("StallGuard", () => {
  it("ends what gives no sign of life within the limit, and only while it is its turn", () => {
    const ends: string[] = [];
    using guard = new StallGuard(() => ends.push("end"), 100, { signal: new AbortController().signal });
    vi.advanceTimersByTime(1000);
    guard.arm();
    vi.advanceTimersByTime(99);
    guard.arm();
    vi.advanceTimersByTime(99);
    guard.rest();
    vi.advanceTimersByTime(1000);
    expect([ends, guard.hasStalled]).toEqual([[], false]);
    guard.arm();
    vi.advanceTimersByTime(100);
    expect([ends, guard.hasStalled]).toEqual([["end"], true]);
  });

  it("ends for a caller who gives up, also before it began", () => {
    const ends: string[] = [];
    const caller = new AbortController();
    using first = new StallGuard(() => ends.push("first"), 100, { signal: caller.signal });
    caller.abort();
    using second = new StallGuard(() => ends.push("second"), 100, { signal: caller.signal });
    expect(ends).toEqual(["first", "second"]);
    expect([first.hasStalled, second.hasStalled]).toEqual([false, false]);
  });

  it("does nothing once it is disposed of", () => {
    const ends: string[] = [];
    const caller = new AbortController();
    using guard = new StallGuard(() => ends.push("end"), 100, { signal: caller.signal });
    guard.arm();
    guard[Symbol.dispose]();
    caller.abort();
    vi.advanceTimersByTime(1000);
    expect(ends).toEqual([]);
  });
});
