/** How fast the output of a process that nobody waits for is read: a flood is slowed down in the box (box §10.8, §14.2). Pure. */

const BURST_BYTES = 8 * 1024 * 1024;
const BYTES_PER_MS = (4 * 1024 * 1024) / 1000;
/** Shorter pauses are not worth a timer. */
const SHORTEST_MS = 50;

export class OutputPace {
  #allowance = BURST_BYTES;
  #lastMs: number;

  /** @param nowMs on a clock that never runs backwards */
  constructor(nowMs: number) {
    this.#lastMs = nowMs;
  }

  /** Counts output that was read. @returns milliseconds to wait before more is read; 0 = go on */
  take(sizeBytes: number, nowMs: number): number {
    const gained = (nowMs - this.#lastMs) * BYTES_PER_MS;
    this.#lastMs = nowMs;
    this.#allowance = Math.min(BURST_BYTES, this.#allowance + gained) - sizeBytes;
    const waitMs = -this.#allowance / BYTES_PER_MS;
    return waitMs < SHORTEST_MS ? 0 : Math.ceil(waitMs);
  }
}
