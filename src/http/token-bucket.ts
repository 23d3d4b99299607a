/** Token buckets by key: a burst up to the capacity, then a steady rate (api §1.6). */
import type { Clock } from "../ports/clock.js";

/** Buckets that are kept; beyond, the one that was used longest ago goes. */
const MAX_BUCKETS = 10_000;

interface Bucket {
  tokens: number;
  /** Milliseconds on the steady clock. */
  filledAt: number;
}

export class TokenBuckets {
  readonly #clock: Clock;
  readonly #perMinute: number;
  readonly #buckets = new Map<string, Bucket>();

  /** @param perMinute both the capacity and what flows in within a minute */
  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  get perMinute(): number {
    return this.#perMinute;
  }

  /** Takes one token. @returns 0 when there was one, else the whole seconds until there is one again */
  take(key: string): number {
    const now = this.#clock.elapsed();
    const bucket = this.#buckets.get(key) ?? { tokens: this.#perMinute, filledAt: now };
    const perMs = this.#perMinute / 60_000;
    bucket.tokens = Math.min(this.#perMinute, bucket.tokens + (now - bucket.filledAt) * perMs);
    bucket.filledAt = now;
    this.#remember(key, bucket);
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return 0;
    }
    return Math.max(1, Math.ceil((1 - bucket.tokens) / perMs / 1000));
  }

  #remember(key: string, bucket: Bucket): void {
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (this.#buckets.size <= MAX_BUCKETS) return;
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}
