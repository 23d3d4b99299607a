/** One holder per key at a time; who came first goes first. */
import { abortReason } from "./abort-reason.js";

interface Waiter {
  readonly admit: () => void;
}

export class KeyedLock<Key> {
  /** A key is present while somebody holds it; its list holds those who wait. */
  readonly #queues = new Map<Key, Waiter[]>();

  /**
   * Waits for its turn. Keys do not wait for one another.
   * @returns the hold: dispose of it to let the next one in; disposing twice is harmless
   * @throws the signal's reason when it aborts before the turn comes; the place in the queue is given up
   */
  async acquire(key: Key, options: { readonly signal: AbortSignal }): Promise<Disposable> {
    options.signal.throwIfAborted();
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, []);
    else await this.#wait(queue, options.signal);
    return this.#hold(key);
  }

  #wait(queue: Waiter[], signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        admit: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      const leave = (): void => {
        queue.splice(queue.indexOf(waiter), 1);
        reject(abortReason(signal));
      };
      signal.addEventListener("abort", leave, { once: true });
      queue.push(waiter);
    });
  }

  #hold(key: Key): Disposable {
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        const next = this.#queues.get(key)?.shift();
        if (next === undefined) this.#queues.delete(key);
        else next.admit();
      },
    };
  }
}
