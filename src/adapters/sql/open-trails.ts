/** The text trails of runs that are going on, the latest few; a lost one costs one whole snapshot in the ledger. */
import type { RunId } from "../../domain/ids.js";
import type { DeltaTrail } from "./delta-trail.js";

export class OpenTrails {
  /** The one longest untouched first. */
  readonly #trails = new Map<RunId, DeltaTrail>();
  readonly #capacity: number;

  /** @param capacity runs to remember */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(run: RunId): DeltaTrail | null {
    return this.#trails.get(run) ?? null;
  }

  /** Call it when the event is committed. A trail that leads less far than the known one is left out. */
  keep(run: RunId, trail: DeltaTrail): void {
    const known = this.#trails.get(run);
    if (known !== undefined && known.sequence > trail.sequence) return;
    this.#trails.delete(run);
    this.#trails.set(run, trail);
    const [oldest] = this.#trails.keys();
    if (this.#trails.size > this.#capacity && oldest !== undefined) this.#trails.delete(oldest);
  }

  drop(run: RunId): void {
    this.#trails.delete(run);
  }
}
