/** How far a box is brought to rest for how long nobody has used it (box §11.3). Pure. */
import type { BoxTier } from "./open-boxes.js";

/** Milliseconds of idle time; Infinity = never. */
export interface IdleSchedule {
  /** Its processes stand still and keep their memory: waking loses nothing. */
  readonly pauseMs: number;
  /** The idle limit: its processes end. */
  readonly stopMs: number;
  /** Its container goes, and what it wrote outside the workspace. */
  readonly removeMs: number;
}

export type IdleStep = "pause" | "stop" | "remove";

/** @returns what is due; null = nothing. Removing never comes before the time to stop, pausing never after it. */
export function chooseIdleStep(tier: BoxTier, idleMs: number, schedule: IdleSchedule): IdleStep | null {
  const { pauseMs, stopMs, removeMs } = schedule;
  if (idleMs < stopMs) return tier === "awake" && idleMs >= pauseMs ? "pause" : null;
  if (idleMs >= removeMs) return "remove";
  return tier === "stopped" ? null : "stop";
}

/** Where boxes are never rested for being idle they are not paused either. */
export function makeIdleSchedule(of: {
  readonly pauseAfterSec: number;
  readonly idleTtlSec: number;
  readonly removeAfterSec: number;
}): IdleSchedule | null {
  if (of.idleTtlSec <= 0) return null;
  return {
    pauseMs: of.pauseAfterSec > 0 ? of.pauseAfterSec * 1000 : Infinity,
    stopMs: of.idleTtlSec * 1000,
    removeMs: of.removeAfterSec * 1000,
  };
}

/** Often enough that no step comes late by much, and at least every 30 s (box §11.2). */
export function lookEveryMs({ pauseMs, stopMs }: IdleSchedule): number {
  return Math.min(10_000, Math.max(500, Math.min(pauseMs, stopMs) / 3));
}
