/** A time limit as a signal: it aborts when the time is over, and can be started again. */

/** Timers hold no more; a longer limit counts as this one, 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class TimeLimit implements Disposable {
  readonly #controller = new AbortController();
  readonly #reason: () => unknown;
  #timer: NodeJS.Timeout | null = null;

  /** @param reason Makes what the signal aborts with. */
  constructor(reason: () => unknown) {
    this.#reason = reason;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Gives `timeoutMs` from here on, whatever was left before. Nothing happens once the limit has struck. */
  restart(timeoutMs: number): void {
    this.stop();
    if (this.signal.aborted) return;
    const ms = Math.min(timeoutMs, MAX_TIMER_MS);
    this.#timer = setTimeout(() => this.#controller.abort(this.#reason()), ms);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}
