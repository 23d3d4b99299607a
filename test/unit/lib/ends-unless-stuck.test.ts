import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { endsUnlessStuck } from "../../../src/lib/ends-unless-stuck.js";

const NEVER = new Promise<void>(() => undefined);

describe("endsUnlessStuck", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("is content with an end before the first look", async () => {
    const isStuck = vi.fn<() => Promise<boolean>>().mockResolvedValue(true);
    expect(await endsUnlessStuck(Promise.resolve(), { limitMs: 1000, lookMs: 400, isStuck })).toBe(true);
    expect(isStuck).not.toHaveBeenCalled();
  });

  it("gives up at the first look that says it is in vain", async () => {
    const looks = [false, true];
    const isStuck = vi.fn<() => Promise<boolean>>(async () => Promise.resolve(looks.shift() ?? false));
    const ended = endsUnlessStuck(NEVER, { limitMs: 5000, lookMs: 500, isStuck });
    await vi.advanceTimersByTimeAsync(1000);
    expect(await ended).toBe(false);
    expect(isStuck).toHaveBeenCalledTimes(2);
  });

  it("gives up when its time is over, without a look that could change nothing", async () => {
    const isStuck = vi.fn<() => Promise<boolean>>().mockResolvedValue(false);
    const told = vi.fn<(ended: boolean) => void>();
    void endsUnlessStuck(NEVER, { limitMs: 1000, lookMs: 400, isStuck }).then(told);
    await vi.advanceTimersByTimeAsync(999);
    expect(told).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(told).toHaveBeenCalledWith(false);
    expect(isStuck).toHaveBeenCalledTimes(2);
  });
});
