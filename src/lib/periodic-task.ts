/** Work that is repeated with a pause in between, from `start` until it is disposed of. */
import { setMaxListeners } from "node:events";
import { delay } from "./delay.js";

export interface PeriodicWork {
  readonly everyMs: number;
  /** The signal aborts when the task is disposed of. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** A round that failed; the next one comes all the same. */
  readonly onError: (error: unknown) => void;
}

export class PeriodicTask implements AsyncDisposable {
  readonly #task: PeriodicWork;
  readonly #life = new AbortController();
  #loop: Promise<void> | null = null;

  constructor(task: PeriodicWork) {
    this.#task = task;
    // One round may make any number of calls at once; each of them lets go when it ends.
    setMaxListeners(0, this.#life.signal);
  }

  /** The first round comes after one pause; starting twice is harmless. */
  start(): void {
    this.#loop ??= this.#repeat();
  }

  /** Stops the round that is going on, and waits for it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    await this.#loop;
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#life;
    for (;;) {
      try {
        await delay(this.#task.everyMs, { signal });
        await this.#task.work(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#task.onError(error);
      }
    }
  }
}
