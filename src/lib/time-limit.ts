/** A time limit as a signal: it aborts when the time is over, and can be started again. */

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
    this.#timer = setTimeout(() => this.#controller.abort(this.#reason()), timeoutMs);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}
