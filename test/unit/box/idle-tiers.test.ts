import { describe, expect, it } from "vitest";
import { chooseIdleStep, lookEveryMs, makeIdleSchedule } from "../../../src/box/idle-tiers.js";

const SCHEDULE = { pauseMs: 30, stopMs: 300, removeMs: 3600 };

describe("chooseIdleStep", () => {
  it.each([
    ["awake", 29, null],
    ["awake", 30, "pause"],
    ["paused", 299, null],
    ["restless", 299, null],
    ["awake", 300, "stop"],
    ["paused", 300, "stop"],
    ["restless", 300, "stop"],
    ["stopped", 3599, null],
    ["stopped", 3600, "remove"],
    ["awake", 3600, "remove"],
  ] as const)("of a box that is %s and idle for %i gives %s", (tier, idleMs, step) => {
    expect(chooseIdleStep(tier, idleMs, SCHEDULE)).toBe(step);
  });

  it("removes at the idle limit what has no time between stopping and removing", () => {
    expect(chooseIdleStep("paused", 299, { ...SCHEDULE, removeMs: 0 })).toBeNull();
    expect(chooseIdleStep("paused", 300, { ...SCHEDULE, removeMs: 0 })).toBe("remove");
  });

  it("never pauses where the time to pause comes after the idle limit", () => {
    expect(chooseIdleStep("awake", 400, { ...SCHEDULE, pauseMs: 400 })).toBe("stop");
  });
});

describe("makeIdleSchedule", () => {
  it("has no steps where boxes are never rested", () => {
    expect(makeIdleSchedule({ pauseAfterSec: 30, idleTtlSec: 0, removeAfterSec: 3600 })).toBeNull();
  });

  it("is in milliseconds", () => {
    const schedule = makeIdleSchedule({ pauseAfterSec: 30, idleTtlSec: 300, removeAfterSec: 3600 });
    expect(schedule).toEqual({ pauseMs: 30_000, stopMs: 300_000, removeMs: 3_600_000 });
  });

  it("leaves pausing out where it is switched off", () => {
    const schedule = makeIdleSchedule({ pauseAfterSec: -1, idleTtlSec: 300, removeAfterSec: 3600 });
    expect(schedule).toEqual({ pauseMs: Infinity, stopMs: 300_000, removeMs: 3_600_000 });
  });
});

describe("lookEveryMs", () => {
  it.each([
    [30_000, 300_000, 10_000],
    [Infinity, 3000, 1000],
    [1000, 300_000, 500],
    [Infinity, 3_600_000, 10_000],
  ])("of %i and %i is %i", (pauseMs, stopMs, everyMs) => {
    expect(lookEveryMs({ pauseMs, stopMs, removeMs: 0 })).toBe(everyMs);
  });
});
