/** Figures of one measurement. */
export interface Series {
  readonly what: string;
  readonly way: string;
  readonly count: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  /** The fastest: on a busy machine it says more than the median. */
  readonly leastMs: number;
  /** How many times longer than the first way. */
  readonly ratio: number;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** @param times milliseconds by way; the others are compared with the first one */
export function summarise(what: string, times: ReadonlyMap<string, readonly number[]>): readonly Series[] {
  const [first = []] = [...times.values()];
  return [...times].map(([way, values]) => ({
    what,
    way,
    count: values.length,
    medianMs: median(values),
    p95Ms: percentile(values, 0.95),
    leastMs: percentile(values, 0),
    ratio: median(values) / median(first),
  }));
}
