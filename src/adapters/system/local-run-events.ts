/** Wakes readers of run events within one process (stack §11 data rule 5). */
import type { RunId } from "../../domain/ids.js";
import { abortReason } from "../../lib/abort-reason.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunEvents } from "../../ports/run-events.js";

interface Waiter {
  readonly beyond: number;
  readonly wake: () => void;
}

export interface LocalRunEventsDeps {
  /** Runs whose newest number is remembered; a thousand times what runs at once is plenty. */
  readonly rememberedRuns?: number | undefined;
}

/**
 * A reader asks the store first and waits when it has seen everything. An event that is stored between the two is not
 * missed, because the newest number of each run is remembered. The memory is bounded: for a run that has fallen out of
 * it a wait ends at once, one time, which sends the reader to the store again.
 */
export class LocalRunEvents implements RunEvents {
  readonly #rememberedRuns: number;
  /** Newest number by run, the run that was notified last at the end. */
  readonly #newest = new Map<RunId, number>();
  readonly #waiters = new Map<RunId, Set<Waiter>>();

  constructor(deps: LocalRunEventsDeps = {}) {
    this.#rememberedRuns = deps.rememberedRuns ?? 10_000;
  }

  notify(runId: RunId, sequence: number): void {
    this.#remember(runId, Math.max(sequence, this.#newest.get(runId) ?? 0));
    for (const waiter of this.#waiters.get(runId) ?? []) if (waiter.beyond < sequence) waiter.wake();
  }

  async waitBeyond(runId: RunId, sequence: number, options: CallOptions): Promise<void> {
    options.signal.throwIfAborted();
    const newest = this.#newest.get(runId);
    if (newest === undefined) {
      // Nothing is known of this run. From here on something is: the next wait is a real one.
      this.#remember(runId, sequence);
      return;
    }
    if (newest > sequence) return;
    await this.#wait(runId, sequence, options.signal);
  }

  #wait(runId: RunId, beyond: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(runId) ?? new Set<Waiter>();
      this.#waiters.set(runId, waiters);
      const end = (): void => {
        signal.removeEventListener("abort", abort);
        waiters.delete(waiter);
        if (waiters.size === 0) this.#waiters.delete(runId);
      };
      const abort = (): void => {
        end();
        reject(abortReason(signal));
      };
      const waiter: Waiter = {
        beyond,
        wake: () => {
          end();
          resolve();
        },
      };
      signal.addEventListener("abort", abort, { once: true });
      waiters.add(waiter);
    });
  }

  #remember(runId: RunId, sequence: number): void {
    this.#newest.delete(runId);
    this.#newest.set(runId, sequence);
    for (const oldest of this.#newest.keys()) {
      if (this.#newest.size <= this.#rememberedRuns) return;
      this.#newest.delete(oldest);
    }
  }
}
