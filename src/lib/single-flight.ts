/** Callers that ask for the same thing at the same time share one piece of work. */
import { abortReason } from "./abort-reason.js";

interface Flight<Value> {
  readonly outcome: Promise<Value>;
  readonly controller: AbortController;
  waiting: number;
}

/** Never two works of one key at once, not even when the first was given up by everybody and is still ending. */
export class SingleFlight<Key, Value> {
  readonly #flights = new Map<Key, Flight<Value>>();

  /**
   * Starts `work`, or joins the one that is going on for this key; its value or error goes to all. Nothing is kept
   * once it has ended.
   * @param work its signal aborts when every caller has left
   * @param options a caller whose signal aborts leaves with the signal's reason; without one it stays to the end
   */
  async run(
    key: Key,
    work: (signal: AbortSignal) => Promise<Value>,
    options?: { readonly signal: AbortSignal },
  ): Promise<Value> {
    for (;;) {
      options?.signal.throwIfAborted();
      const current = this.#flights.get(key);
      if (current === undefined) return this.#join(this.#start(key, work), options?.signal);
      if (!current.controller.signal.aborted) return this.#join(current, options?.signal);
      await settled(current.outcome);
    }
  }

  #start(key: Key, work: (signal: AbortSignal) => Promise<Value>): Flight<Value> {
    const controller = new AbortController();
    const perform = async (): Promise<Value> => {
      try {
        return await work(controller.signal);
      } finally {
        this.#flights.delete(key);
      }
    };
    // The entry stands before the work begins, so that work which ends at once still removes it.
    const outcome = Promise.resolve().then(perform);
    const flight = { outcome, controller, waiting: 0 };
    this.#flights.set(key, flight);
    return flight;
  }

  async #join(flight: Flight<Value>, signal: AbortSignal | undefined): Promise<Value> {
    flight.waiting += 1;
    try {
      return await (signal === undefined ? flight.outcome : untilAborted(flight.outcome, signal));
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) flight.controller.abort();
    }
  }
}

function settled(outcome: Promise<unknown>): Promise<void> {
  return outcome.then(
    () => undefined,
    () => undefined,
  );
}

/** Follows `outcome` until the signal aborts; the outcome itself goes on and its failure stays handled. */
function untilAborted<Value>(outcome: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(abortReason(signal));
    signal.addEventListener("abort", leave, { once: true });
    outcome.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
