/** Wakes whoever waits for the next change of something. */
import { abortReason } from "./abort-reason.js";

export class ChangeSignal {
  readonly #waiting = new Set<() => void>();

  notify(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /**
   * Waits for the next change, at most `timeoutMs` where that is given.
   * @returns false when the time was over first
   * @throws the signal's reason when it aborts first
   */
  async next(of: {
    readonly signal: AbortSignal;
    readonly timeoutMs?: number | undefined;
  }): Promise<boolean> {
    const { signal, timeoutMs } = of;
    signal.throwIfAborted();
    return new Promise<boolean>((resolve, reject) => {
      const end = (): void => {
        this.#waiting.delete(wake);
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
      };
      const wake = (): void => {
        end();
        resolve(true);
      };
      const giveUp = (): void => {
        end();
        reject(abortReason(signal));
      };
      const expire = (): void => {
        end();
        resolve(false);
      };
      const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs);
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(wake);
    });
  }
}
