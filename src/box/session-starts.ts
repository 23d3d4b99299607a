/** Processes that are being started, by session: the end of a session ends them too, and leaves none behind (box §14.1). */
import { ServiceError } from "../domain/errors.js";
import type { SessionId } from "../domain/ids.js";
import { linkSignals } from "../lib/link-signals.js";
import type { CallOptions } from "../ports/options.js";

interface Start {
  readonly sessionId: SessionId;
  readonly life: AbortController;
  settled: Promise<unknown>;
}

export class SessionStarts {
  readonly #starts = new Set<Start>();

  /** How many are under way. */
  get count(): number {
    return this.#starts.size;
  }

  /**
   * Does the work under a signal that the end of the session aborts. The work must not leave a process when it fails.
   * @throws what the work throws; ServiceError `box.process_not_found` when the session ended meanwhile
   */
  async run<Value>(
    sessionId: SessionId,
    work: (options: CallOptions) => Promise<Value>,
    options: CallOptions,
  ): Promise<Value> {
    const life = new AbortController();
    using linked = linkSignals(options.signal, life.signal);
    const start: Start = { sessionId, life, settled: Promise.resolve() };
    this.#starts.add(start);
    try {
      const working = work(linked);
      start.settled = working;
      return await working;
    } finally {
      this.#starts.delete(start);
    }
  }

  /** Takes back what is being started in a session, or everywhere, and waits until it is. */
  async cancel(sessionId: SessionId | null): Promise<void> {
    const starts = [...this.#starts].filter((start) => sessionId === null || start.sessionId === sessionId);
    const reason = new ServiceError(
      "box.process_not_found",
      "The session ended while a process was started.",
    );
    for (const { life } of starts) life.abort(reason);
    await Promise.allSettled(starts.map(({ settled }) => settled));
  }
}
