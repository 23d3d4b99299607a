/** What becomes of messages that still wait for a run when it ends (runs §14.6, §14.7). */
import type { RunId } from "../domain/ids.js";
import type { RunRecord, SteeringEnd } from "../ports/run-store.js";

export interface SteeringEndsDeps {
  /** False when nobody can be answered there any more: the chat was deleted, the tenant is gone. */
  readonly hasChat: (run: RunRecord) => boolean;
}

export class SteeringEnds {
  readonly #deps: SteeringEndsDeps;
  readonly #cleared = new Set<RunId>();

  constructor(deps: SteeringEndsDeps) {
    this.#deps = deps;
  }

  of(run: RunRecord): SteeringEnd {
    if (!this.#deps.hasChat(run)) return "drop";
    return this.#cleared.has(run.id) ? "clear" : "requeue";
  }

  /** While it is held, the end of the run clears its queue. */
  clear(id: RunId): Disposable {
    this.#cleared.add(id);
    return { [Symbol.dispose]: () => void this.#cleared.delete(id) };
  }
}
