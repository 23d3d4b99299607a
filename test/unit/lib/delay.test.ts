import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { delay, endsWithin } from "../../../src/lib/delay.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("delay", () => {
  it("waits that long and leaves nothing behind", async () => {
    const controller = new AbortController();
    const ended = vi.fn<() => void>();
    const waiting = delay(100, { signal: controller.signal }).then(ended);
    await vi.advanceTimersByTimeAsync(99);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    await waiting;
    controller.abort();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("rejects with the signal's reason, at once where it is aborted already", async () => {
    const controller = new AbortController();
    const reason = new Error("Stopped.");
    const waiting = delay(100, { signal: controller.signal });
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(delay(100, { signal: controller.signal })).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("makes an error of a reason that is none", async () => {
    const controller = new AbortController();
    const waiting = delay(100, { signal: controller.signal });
    controller.abort("why not");
    await expect(waiting).rejects.toMatchObject({ cause: "why not" });
  });
});

describe("endsWithin", () => {
  it("tells work that ends in time, well or not, from work that goes on", async () => {
    const never = new Promise(() => undefined);
    const waiting = endsWithin(never, 50);
    await vi.advanceTimersByTimeAsync(50);
    expect(await waiting).toBe(false);
    expect(await endsWithin(Promise.resolve(), 50)).toBe(true);
    expect(await endsWithin(Promise.reject(new Error("It failed.")), 50)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});
