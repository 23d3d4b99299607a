/** How fast output is read, so that a flood is slowed down in the box (box §10.8, §14.2). Pure. */

export interface PaceRule {
  /** What is read at full speed, also again after a rest. */
  readonly burstBytes: number;
  readonly bytesPerSecond: number;
  /** Shorter pauses, in milliseconds, are not worth a timer. */
  readonly shortestMs: number;
}

export class OutputPace {
  readonly #rule: PaceRule;
  #allowance: number;
  #lastMs: number;

  /** @param nowMs on a clock that never runs backwards */
  constructor(rule: PaceRule, nowMs: number) {
    this.#rule = rule;
    this.#allowance = rule.burstBytes;
    this.#lastMs = nowMs;
  }

  /** Counts output that was read. @returns milliseconds to wait before more is read; 0 = go on */
  take(sizeBytes: number, nowMs: number): number {
    const { burstBytes, bytesPerSecond, shortestMs } = this.#rule;
    const bytesPerMs = bytesPerSecond / 1000;
    const gained = (nowMs - this.#lastMs) * bytesPerMs;
    this.#lastMs = nowMs;
    this.#allowance = Math.min(burstBytes, this.#allowance + gained) - sizeBytes;
    const waitMs = -this.#allowance / bytesPerMs;
    return waitMs < shortestMs ? 0 : Math.ceil(waitMs);
  }
}
