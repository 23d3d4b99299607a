/** A clock that stands still until a test moves it. */
import type { Clock } from "../../src/ports/clock.js";

export class FakeClock implements Clock {
  #now: number;
  #elapsed = 0;

  /** @param now Unix milliseconds */
  constructor(now = 1_700_000_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
    this.#elapsed += milliseconds;
  }

  /** Sets the time of day, as an operator does; durations go on undisturbed. */
  set(now: number): void {
    this.#now = now;
  }
}
