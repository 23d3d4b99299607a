import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ChangeSignal } from "../../../src/lib/change-signal.js";

const { signal } = new AbortController();

describe("ChangeSignal", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("wakes all who wait, once", async () => {
    const changes = new ChangeSignal();
    const waiting = [changes.next({ signal }), changes.next({ signal, timeoutMs: 1000 })];
    changes.notify();
    changes.notify();
    expect(await Promise.all(waiting)).toEqual([true, true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("waits no longer than it is told", async () => {
    const waiting = new ChangeSignal().next({ signal, timeoutMs: 1000 });
    await vi.advanceTimersByTimeAsync(1000);
    expect(await waiting).toBe(false);
  });

  it("lets go of who gives up", async () => {
    const reason = new Error("given up");
    const controller = new AbortController();
    const waiting = new ChangeSignal().next({ signal: controller.signal, timeoutMs: 1000 });
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
    await expect(new ChangeSignal().next({ signal: controller.signal })).rejects.toBe(reason);
  });
});
