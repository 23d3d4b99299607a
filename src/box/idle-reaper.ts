/** Brings idle boxes to rest, some at a time; an engine call that hangs holds up no other box (box §11.2). */
import { setMaxListeners } from "node:events";
import type { SessionId } from "../domain/ids.js";
import type { CallOptions } from "../ports/options.js";
import { chooseIdleStep, type IdleSchedule, type IdleStep } from "./idle-tiers.js";
import type { Rest } from "./open-boxes.js";
import { pauseBox, type RestDeps, restBox, stopBox } from "./rest-box.js";

const AT_ONCE = 8;
/** A box that could not be rested is left alone for so long, so that the others have their turn. */
const POSTPONE_MS = 30_000;

export class IdleReaper implements AsyncDisposable {
  readonly #deps: RestDeps;
  readonly #schedule: IdleSchedule;
  /** Stopped containers that are kept: each holds a uid and disk. */
  readonly #maxStopped: number;
  readonly #life = new AbortController();
  readonly #working = new Set<Promise<void>>();

  constructor(deps: RestDeps, of: { readonly schedule: IdleSchedule; readonly maxStopped: number }) {
    this.#deps = deps;
    this.#schedule = of.schedule;
    this.#maxStopped = of.maxStopped;
    setMaxListeners(0, this.#life.signal);
  }

  /** Begins what is due and can be done at this moment; it goes on by itself. */
  look(): void {
    for (const { id, tier, idleMs } of this.#deps.boxes.idle()) {
      if (this.#working.size >= AT_ONCE) return;
      const step = chooseIdleStep(tier, idleMs, this.#schedule);
      if (step !== null) this.#begin(id, step);
    }
  }

  /** Waits for what has begun. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    await Promise.all(this.#working);
  }

  #begin(id: SessionId, step: IdleStep): void {
    const work = this.#rest(id, step).finally(() => this.#working.delete(work));
    this.#working.add(work);
  }

  async #rest(id: SessionId, step: IdleStep): Promise<void> {
    const { boxes, errors, logger } = this.#deps;
    const options = { signal: this.#life.signal };
    try {
      await this.#take(id, step, options);
    } catch (error) {
      if (options.signal.aborted) return;
      if (step === "pause") {
        boxes.markRestless(id);
        logger.warn(
          { sessionId: id },
          "A box could not be paused; it is stopped when its time comes.",
          error,
        );
        return;
      }
      boxes.postpone(id, POSTPONE_MS);
      errors.add(error, null);
      logger.warn({ sessionId: id }, "A box could not be rested.", error);
    }
  }

  async #take(id: SessionId, step: IdleStep, options: CallOptions): Promise<void> {
    const { boxes } = this.#deps;
    const by =
      (work: (deps: RestDeps, of: SessionId, call: CallOptions) => Promise<void>): Rest =>
      async (of) =>
        work(this.#deps, of, options);
    if (step === "pause") await boxes.quieten(id, "paused", by(pauseBox));
    else if (step === "stop" && boxes.stoppedCount < this.#maxStopped)
      await boxes.quieten(id, "stopped", by(stopBox));
    else await boxes.close(id, by(restBox));
  }
}
