/** What one box may take of the broker (security §5). */

export interface EgressLimits {
  /** Connections at one time. */
  readonly maxConnections: number;
  /** Bytes in both directions within one hour. */
  readonly maxBytesPerHour: number;
  /** Milliseconds of one connection. */
  readonly connectionMs: number;
  /** Milliseconds in which nothing goes through a connection. */
  readonly idleMs: number;
}

const HOUR_MS = 3_600_000;

/** Bytes of one session in the current hour. */
export class ByteBudget {
  readonly #maxBytes: number;
  readonly #elapsed: () => number;
  #begun: number;
  #usedBytes = 0;

  /** @param elapsed milliseconds that never run backwards */
  constructor(maxBytes: number, elapsed: () => number) {
    this.#maxBytes = maxBytes;
    this.#elapsed = elapsed;
    this.#begun = elapsed();
  }

  /** Whether its hour is over, and it counts for nothing. */
  get isStale(): boolean {
    return this.#elapsed() - this.#begun >= HOUR_MS;
  }

  get isSpent(): boolean {
    return !this.isStale && this.#usedBytes >= this.#maxBytes;
  }

  /** @returns false when that was more than is left; it counts all the same */
  take(bytes: number): boolean {
    if (this.isStale) {
      this.#begun = this.#elapsed();
      this.#usedBytes = 0;
    }
    this.#usedBytes += bytes;
    return this.#usedBytes <= this.#maxBytes;
  }
}
