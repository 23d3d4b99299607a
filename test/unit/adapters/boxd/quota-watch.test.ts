import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { QuotaWatch } from "../../../../src/adapters/boxd/quota-watch.js";
import type { DiskUse } from "../../../../src/domain/exec-outcome.js";

const MIB = 1024 * 1024;
const FOREVER = new Promise<void>(() => undefined);

function watchOver(uses: readonly number[], isHostFull?: () => boolean) {
  const left = [...uses];
  let measured = 0;
  const quota = new QuotaWatch({
    quotaMib: 100,
    measure: async () => {
      measured += 1;
      const mib = left.length > 1 ? left.shift() : left[0];
      return Promise.resolve({ sizeBytes: (mib ?? 0) * MIB, entries: 1 });
    },
    isHostFull: isHostFull === undefined ? undefined : async () => Promise.resolve(isHostFull()),
    elapsed: () => Date.now(),
  });
  return { quota, count: () => measured };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("QuotaWatch", () => {
  it("stops a command when the workspace grows above the quota, with what it holds then", async () => {
    const { quota } = watchOver([10, 90, 101]);
    const strikes: DiskUse[] = [];
    quota.watch({ gone: FOREVER, strike: (use) => strikes.push(use) }, null);
    await vi.advanceTimersByTimeAsync(3000);
    expect(strikes[0]).toEqual({ sizeBytes: 101 * MIB, entries: 1 });
  });

  it("holds up no command for longer than a second, however long the box takes to tell what it holds", async () => {
    const never = new Promise<DiskUse>(() => undefined);
    const quota = new QuotaWatch({ quotaMib: 100, measure: async () => never, elapsed: () => Date.now() });
    const before = quota.before();
    await vi.advanceTimersByTimeAsync(1000);
    expect(await before).toBeNull();
  });

  it("lets a full workspace be cleaned up, and stops only what fills it further", async () => {
    const { quota } = watchOver([150, 150, 120, 151]);
    const strikes: DiskUse[] = [];
    quota.watch({ gone: FOREVER, strike: (use) => strikes.push(use) }, await quota.before());
    await vi.advanceTimersByTimeAsync(220);
    expect(strikes).toEqual([]);
    await vi.advanceTimersByTimeAsync(100);
    expect(strikes[0]?.sizeBytes).toBe(151 * MIB);
  });

  it("measures before a command only what is unknown or nearly full", async () => {
    const { quota, count } = watchOver([10, 10]);
    expect(await quota.before()).toEqual({ sizeBytes: 10 * MIB, entries: 1 });
    expect(await quota.before()).toBeNull();
    expect(count()).toBe(1);
    const full = watchOver([90, 90]);
    await full.quota.before();
    expect(await full.quota.before()).toEqual({ sizeBytes: 90 * MIB, entries: 1 });
  });

  it("measures nothing once all commands are gone, and nothing without a quota", async () => {
    const { quota, count } = watchOver([10]);
    quota.watch({ gone: Promise.resolve(), strike: () => undefined }, null);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(count()).toBeLessThanOrEqual(1);
    const none = new QuotaWatch({
      quotaMib: 0,
      measure: async () => Promise.reject(new Error("asked")),
      elapsed: () => 0,
    });
    expect(await none.before()).toBeNull();
  });

  it("stops who writes while the disk of the host is down to its reserve, far below the quota", async () => {
    const { quota } = watchOver([10, 11, 12.5], () => true);
    const strikes: DiskUse[] = [];
    quota.watch({ gone: FOREVER, strike: (use) => strikes.push(use) }, null);
    await vi.advanceTimersByTimeAsync(8000);
    expect(strikes[0]).toEqual({ sizeBytes: 12.5 * MIB, entries: 1, isHostFull: true });
  });

  it("stops nobody there who only looks or removes", async () => {
    const { quota } = watchOver([10, 10.5, 3, 10.9], () => true);
    const strikes: DiskUse[] = [];
    quota.watch({ gone: FOREVER, strike: (use) => strikes.push(use) }, null);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(strikes).toEqual([]);
  });

  it("counts what was written since the host's disk ran low, not before", async () => {
    let isFull = false;
    const { quota } = watchOver([10, 50], () => isFull);
    const strikes: DiskUse[] = [];
    quota.watch({ gone: FOREVER, strike: (use) => strikes.push(use) }, null);
    await vi.advanceTimersByTimeAsync(5000);
    isFull = true;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(strikes).toEqual([]);
  });

  it("goes on watching after a look that failed", async () => {
    let looks = 0;
    const quota = new QuotaWatch({
      quotaMib: 100,
      measure: async () => {
        looks += 1;
        if (looks === 2) return Promise.reject(new Error("no answer"));
        return Promise.resolve({ sizeBytes: looks * 50 * MIB, entries: 1 });
      },
      elapsed: () => Date.now(),
    });
    const strikes: DiskUse[] = [];
    quota.watch({ gone: FOREVER, strike: (use) => strikes.push(use) }, null);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(strikes[0]).toEqual({ sizeBytes: 150 * MIB, entries: 1 });
  });
});
