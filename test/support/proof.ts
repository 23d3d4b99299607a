/** What proofs share: how much of them is run, and the figures they leave for `npm run prove:box`. */
import { appendFileSync } from "node:fs";
import { loadavg } from "node:os";
import { expect } from "vitest";

/** The whole length, with limits on time; otherwise a short form that asks only for what no busy machine can change. */
export const IS_FULL: boolean = process.env["PROVE"] === "full";

export function sized(quick: number, full: number): number {
  return IS_FULL ? full : quick;
}

/** One line of the table of `npm run prove:box`. */
export interface Figure {
  readonly proof: string;
  readonly what: string;
  readonly value: number;
  readonly unit: "ms" | "MiB" | "x" | "count";
  /** The most that may be; absent = told only. */
  readonly limit?: number | undefined;
}

/** Keeps the figure; above its limit the proof fails, in its whole length only. */
export function prove(figure: Figure): void {
  const file = process.env["PROVE_FIGURES"];
  if (file !== undefined) {
    const load = Math.round((loadavg()[0] ?? 0) * 10) / 10;
    const value = Math.round(figure.value * 10) / 10;
    appendFileSync(file, `${JSON.stringify({ ...figure, value, load })}\n`);
  }
  if (IS_FULL && figure.limit !== undefined)
    expect(figure.value, `${figure.proof}: ${figure.what}`).toBeLessThanOrEqual(figure.limit);
}

/** @param share 0.5 is the median */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
