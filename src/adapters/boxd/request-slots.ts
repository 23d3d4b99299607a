/** At most so many requests at once; who came first goes first. */
import { abortReason } from "../../lib/abort-reason.js";

export class RequestSlots {
  #free: number;
  readonly #waiting: Array<() => void> = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Waits for a slot; whoever has it gives it back by `release`. @throws the signal's reason when it aborts first */
  async acquire({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const admit = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1);
        reject(abortReason(signal));
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(admit);
    });
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
