/** How long one fetch may take: in all, and between two pieces; and what ended it. */
import { ServiceError } from "../../domain/errors.js";
import { type LinkedSignal, linkSignals } from "../../lib/link-signals.js";
import { TimeLimit } from "../../lib/time-limit.js";

export interface FetchTimes {
  readonly timeoutMs: number;
  readonly idleMs: number;
}

export class FetchLife implements Disposable {
  readonly #times: FetchTimes;
  readonly #caller: AbortSignal;
  readonly #total: TimeLimit;
  readonly #idle: TimeLimit;
  readonly #linked: LinkedSignal;

  constructor(times: FetchTimes, caller: AbortSignal) {
    this.#times = times;
    this.#caller = caller;
    this.#total = new TimeLimit(() => tooSlow(`The fetch took longer than ${times.timeoutMs / 1000} s.`));
    this.#idle = new TimeLimit(() => tooSlow(`The server sent nothing for ${times.idleMs / 1000} s.`));
    this.#linked = linkSignals(caller, this.#total.signal, this.#idle.signal);
    this.#total.restart(times.timeoutMs);
    this.#idle.restart(times.idleMs);
  }

  get signal(): AbortSignal {
    return this.#linked.signal;
  }

  /** The server is to send something from here on. */
  expectBytes(): void {
    this.#idle.restart(this.#times.idleMs);
  }

  /** It is the reader's turn: a slow reader is not the server's fault. */
  pause(): void {
    this.#idle.stop();
  }

  /** Waits for work that cannot be stopped, such as a look-up of the system, no longer than this life lasts. */
  async race<Value>(work: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(new Error("The fetch was stopped."));
      if (this.signal.aborted) stop();
      this.signal.addEventListener("abort", stop, { once: true });
      // Listened to in any case: a failure that nobody hears would end the process.
      work.then(resolve, reject).finally(() => this.signal.removeEventListener("abort", stop));
    });
  }

  /** The error to throw for what went wrong: the caller's reason, the limit that struck, or the failure itself. */
  explain(error: unknown): unknown {
    if (this.#caller.aborted) return this.#caller.reason;
    if (this.signal.aborted) return this.signal.reason;
    if (error instanceof ServiceError) return error;
    return new ServiceError("outbound.failed", "The connection to the server failed.", { cause: error });
  }

  [Symbol.dispose](): void {
    this.#total[Symbol.dispose]();
    this.#idle[Symbol.dispose]();
    this.#linked[Symbol.dispose]();
  }
}

function tooSlow(message: string): ServiceError {
  return new ServiceError("outbound.failed", message);
}
