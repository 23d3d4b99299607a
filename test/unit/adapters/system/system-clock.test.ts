import { afterEach, describe, expect, it, vi } from "vitest";
import { SystemClock } from "../../../../src/adapters/system/system-clock.js";

describe("SystemClock", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("tells the time of day in Unix milliseconds", () => {
    vi.useFakeTimers({ now: 1_700_000_000_123 });
    expect(new SystemClock().now()).toBe(1_700_000_000_123);
  });

  it("measures durations that no change of the time of day disturbs", () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 5_000 });
    const clock = new SystemClock();
    const before = clock.elapsed();
    vi.setSystemTime(1_000);
    expect(clock.elapsed()).toBeGreaterThanOrEqual(before);
  });
});
