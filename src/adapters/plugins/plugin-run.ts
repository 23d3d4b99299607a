/** One run in the process of its package: results on their way to their reader, and the host that answers for it. */
import { setMaxListeners } from "node:events";
import { ServiceError } from "../../domain/errors.js";
import type { RunnerResult } from "../../domain/result.js";
import { ChangeSignal } from "../../lib/change-signal.js";
import type { RunHost } from "../../ports/run-host.js";

/** Results that may be on their way; the process waits for leave to send more. */
export const RESULT_CREDIT = 16;

export class PluginRun implements Disposable {
  readonly host: RunHost;
  readonly #queue: RunnerResult[] = [];
  readonly #changed = new ChangeSignal();
  readonly #life = new AbortController();
  #end: { readonly failure: Error | null } | null = null;

  constructor(host: RunHost) {
    this.host = host;
    // Every host call of the run listens while it lasts.
    setMaxListeners(0, this.#life.signal);
  }

  /** Aborts when the run is over for the service: its host calls end with it. */
  get signal(): AbortSignal {
    return this.#life.signal;
  }

  /** Whether its process has said, or suffered, its end. */
  get hasEnded(): boolean {
    return this.#end !== null;
  }

  /** @throws ServiceError `runner.protocol` for more than it was given leave for */
  push(result: RunnerResult): void {
    if (this.#queue.length >= RESULT_CREDIT)
      throw new ServiceError("runner.protocol", "The package sent more results than it had leave for.");
    this.#queue.push(result);
    this.#changed.notify();
  }

  /** Nothing more comes; the first end counts. @param failure null = it ended well */
  end(failure: Error | null): void {
    this.#end ??= { failure };
    this.#changed.notify();
  }

  /** What came before the end is given, then a failure is thrown. @param onTaken a reader has room for one more */
  async *results(onTaken: () => void): AsyncGenerator<RunnerResult, void> {
    for (;;) {
      const result = this.#queue.shift();
      if (result !== undefined) {
        onTaken();
        yield result;
      } else if (this.#end === null) await this.#changed.next({ signal: this.signal });
      else if (this.#end.failure === null) return;
      else throw this.#end.failure;
    }
  }

  [Symbol.dispose](): void {
    this.#life.abort(new ServiceError("host.not_found", "Run session not found: the run has ended."));
  }
}
