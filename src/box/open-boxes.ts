/** Boxes that exist or are being made or closed, who holds them, and how many there may be (box §4.9, §11.2, §11.6). */
import type { BoxSettings } from "../domain/box.js";
import { ServiceError } from "../domain/errors.js";
import type { SessionId } from "../domain/ids.js";
import type { Clock } from "../ports/clock.js";
import type { CallOptions } from "../ports/options.js";

/** What this process knows of a container. */
export interface OpenBox {
  readonly tenant: string;
  /** Null while it is made. */
  readonly container: string | null;
  readonly uid: number;
  /** Settings it was made with; null = by a process before this one. */
  readonly settings: BoxSettings | null;
  /** When the engine started it, as the engine says it; another value means that its processes are gone. */
  readonly startedAt: string | null;
}

/** For what a box is held: jobs and terminals end with the session, the other uses are waited for. */
export type HoldKind = "use" | "job" | "terminal";

interface Hold {
  readonly kind: HoldKind;
}

interface Slot {
  box: OpenBox;
  /** Monotonic milliseconds when the last hold ended. */
  idleSince: number;
  /** Settles when a closing has ended, well or not. */
  closing: Promise<void> | null;
}

/** Gives up the container of a session. */
export type Rest = (id: SessionId) => Promise<void>;

export class OpenBoxes {
  readonly #deps: { readonly clock: Clock; readonly maxBoxes: number };
  readonly #slots = new Map<SessionId, Slot>();
  readonly #holds = new Map<SessionId, Set<Hold>>();

  constructor(deps: { readonly clock: Clock; readonly maxBoxes: number }) {
    this.#deps = deps;
  }

  /** Those being made or closed count. */
  get count(): number {
    return this.#slots.size;
  }

  get(id: SessionId): OpenBox | null {
    return this.#slots.get(id)?.box ?? null;
  }

  /** Keeps the box from being rested until disposed; counts from the very call. */
  hold(id: SessionId, kind: HoldKind = "use"): Disposable {
    const held = this.#holds.get(id) ?? new Set();
    const hold: Hold = { kind };
    this.#holds.set(id, held.add(hold));
    return {
      [Symbol.dispose]: () => {
        if (!held.delete(hold)) return;
        if (held.size === 0) this.#holds.delete(id);
        const slot = this.#slots.get(id);
        if (slot !== undefined) slot.idleSince = this.#deps.clock.elapsed();
      },
    };
  }

  /** @param kind absent = of all kinds */
  holds(id: SessionId, kind?: HoldKind): number {
    const held = [...(this.#holds.get(id) ?? [])];
    return held.filter((hold) => kind === undefined || hold.kind === kind).length;
  }

  /** Enters or corrects what is known of a box. @param idleMs how long nobody has used it */
  set(id: SessionId, box: OpenBox, idleMs = 0): void {
    const slot = this.#slots.get(id);
    if (slot !== undefined) slot.box = box;
    else this.#slots.set(id, { box, idleSince: this.#deps.clock.elapsed() - idleMs, closing: null });
  }

  forget(id: SessionId): void {
    this.#slots.delete(id);
  }

  /** Uids of all boxes but this one's. */
  uidsBesides(id: SessionId): readonly number[] {
    return [...this.#slots].flatMap(([other, { box }]) => (other === id ? [] : [box.uid]));
  }

  /** Waits for a closing that is going on. */
  async settled(id: SessionId): Promise<void> {
    await this.#slots.get(id)?.closing;
  }

  /**
   * Makes sure that the session has a place, and rests the longest idle box for it when all are taken (box §11.6).
   * @throws ServiceError `box.capacity` when every box is in use
   */
  async reserve(
    id: SessionId,
    of: { readonly tenant: string; readonly uid: number; readonly rest: Rest },
    options: CallOptions,
  ): Promise<void> {
    while (!this.#slots.has(id)) {
      options.signal.throwIfAborted();
      if (this.#slots.size < this.#deps.maxBoxes) {
        this.set(id, { tenant: of.tenant, container: null, uid: of.uid, settings: null, startedAt: null });
        return;
      }
      const victim = this.#longestIdle();
      const closing = [...this.#slots.values()].find((slot) => slot.closing !== null);
      if (victim !== null) await this.close(victim, of.rest);
      else if (closing === undefined) throw this.#full();
      else await closing.closing;
    }
  }

  /**
   * Rests a box that nobody holds; whoever comes meanwhile waits and makes a new one.
   * @returns false when somebody holds it or it is closing already
   */
  async close(id: SessionId, rest: Rest): Promise<boolean> {
    const slot = this.#slots.get(id);
    if (slot === undefined || !this.#isIdle(id, slot)) return false;
    const work = rest(id);
    slot.closing = work.then(
      () => this.forget(id),
      () => {
        slot.closing = null;
      },
    );
    await slot.closing;
    await work;
    return true;
  }

  /** Milliseconds since the last hold ended; null while somebody holds the box, and where there is none. */
  idleMs(id: SessionId): number | null {
    const slot = this.#slots.get(id);
    return slot === undefined || this.holds(id) > 0 ? null : this.#deps.clock.elapsed() - slot.idleSince;
  }

  /** Sessions whose box nobody has used for so long. */
  idleFor(idleMs: number): readonly SessionId[] {
    const limit = this.#deps.clock.elapsed() - idleMs;
    return [...this.#slots].flatMap(([id, slot]) =>
      this.#isIdle(id, slot) && slot.idleSince <= limit ? [id] : [],
    );
  }

  #isIdle(id: SessionId, slot: Slot): boolean {
    return slot.closing === null && this.holds(id) === 0;
  }

  #longestIdle(): SessionId | null {
    const idle = [...this.#slots].filter(([id, slot]) => this.#isIdle(id, slot));
    return idle.toSorted(([, one], [, other]) => one.idleSince - other.idleSince)[0]?.[0] ?? null;
  }

  #full(): ServiceError {
    const { maxBoxes } = this.#deps;
    return new ServiceError(
      "box.capacity",
      `All ${this.#slots.size} boxes are in use; the limit is ${maxBoxes} (boxes.max_boxes).`,
      { hint: "Try again when another run has ended.", details: { limit: maxBoxes, used: this.#slots.size } },
    );
  }
}
