/** Boxes that exist or are being made or closed, who holds them, and how many there may be (box §4.9, §11.2, §11.6). */
import type { BoxSettings } from "../domain/box.js";
import { ServiceError } from "../domain/errors.js";
import type { SessionId } from "../domain/ids.js";
import { POOL_TENANT } from "../domain/session.js";
import type { ContainerState } from "../ports/box-backend.js";
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

/** How far a box is at rest. `restless`: it could not be paused, and is stopped when its time comes. */
export type BoxTier = "awake" | "restless" | "paused" | "stopped";

export interface IdleBox {
  readonly id: SessionId;
  readonly tier: BoxTier;
  readonly idleMs: number;
}

interface Slot {
  box: OpenBox;
  tier: BoxTier;
  /** Monotonic milliseconds when the last hold ended. */
  idleSince: number;
  /** Monotonic milliseconds before which nobody tries to rest it again. */
  leaveUntil: number;
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

  /** Those being made or closed count; stopped ones, which take neither memory nor processes, do not. */
  get count(): number {
    return [...this.#slots.values()].filter(takesPlace).length;
  }

  get stoppedCount(): number {
    return this.#slots.size - this.count;
  }

  get isFull(): boolean {
    return this.count >= this.#deps.maxBoxes;
  }

  get(id: SessionId): OpenBox | null {
    return this.#slots.get(id)?.box ?? null;
  }

  /** Whether the box has a place among those that are awake. */
  isAwake(id: SessionId): boolean {
    const tier = this.#slots.get(id)?.tier;
    return tier === "awake" || tier === "restless";
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

  /** Enters or corrects what is known of a box that is awake. @param idleMs how long nobody has used it */
  set(id: SessionId, box: OpenBox, idleMs = 0): void {
    const slot = this.#slots.get(id);
    if (slot !== undefined) {
      slot.box = box;
      slot.tier = "awake";
    } else {
      const idleSince = this.#deps.clock.elapsed() - idleMs;
      this.#slots.set(id, { box, tier: "awake", idleSince, leaveUntil: 0, closing: null });
    }
  }

  /** A box of the pool becomes a tenant's; its idle time begins. */
  entrust(id: SessionId, tenant: string): void {
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    slot.box = { ...slot.box, tenant };
    slot.idleSince = this.#deps.clock.elapsed();
  }

  /** What the engine says of a box that nobody holds: somebody else may have stopped it, or started it. */
  see(id: SessionId, state: ContainerState): void {
    const slot = this.#slots.get(id);
    if (slot === undefined || !this.#isIdle(id, slot)) return;
    if (state !== "running") slot.tier = state;
    else if (slot.tier !== "restless") slot.tier = "awake";
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
   * Makes sure that the session has a place, and removes another box for it when all are taken: one of the pool, else the
   * longest idle one (box §11.6).
   * @throws ServiceError `box.capacity` when every box is in use
   */
  async reserve(
    id: SessionId,
    of: { readonly tenant: string; readonly uid: number; readonly rest: Rest },
    options: CallOptions,
  ): Promise<void> {
    for (;;) {
      const slot = this.#slots.get(id);
      if (slot !== undefined && takesPlace(slot)) return;
      options.signal.throwIfAborted();
      if (!this.isFull) {
        const making = { tenant: of.tenant, container: null, uid: of.uid, settings: null, startedAt: null };
        this.set(id, slot?.box ?? making);
        return;
      }
      const victim = this.#firstToRest();
      const closing = [...this.#slots.values()].find((other) => other.closing !== null && takesPlace(other));
      if (victim !== null) await this.close(victim, of.rest);
      else if (closing === undefined) throw this.#full();
      else await closing.closing;
    }
  }

  /**
   * Removes a box that nobody holds; whoever comes meanwhile waits and makes a new one.
   * @returns false when somebody holds it or it is closing already
   */
  async close(id: SessionId, rest: Rest): Promise<boolean> {
    return this.#close(id, rest, () => this.forget(id));
  }

  /** Brings a box that nobody holds to rest; whoever comes meanwhile waits. @returns as `close` */
  async quieten(id: SessionId, tier: "paused" | "stopped", rest: Rest): Promise<boolean> {
    return this.#close(id, rest, (slot) => {
      slot.tier = tier;
    });
  }

  async #close(id: SessionId, rest: Rest, onDone: (slot: Slot) => void): Promise<boolean> {
    const slot = this.#slots.get(id);
    if (slot === undefined || !this.#isIdle(id, slot)) return false;
    const work = rest(id);
    const note = (then: (done: Slot) => void): void => {
      slot.closing = null;
      then(slot);
    };
    slot.closing = work.then(
      () => note(onDone),
      () => note(() => undefined),
    );
    await slot.closing;
    await work;
    return true;
  }

  /** A box that cannot be paused is not asked to again before its next use. */
  markRestless(id: SessionId): void {
    const slot = this.#slots.get(id);
    if (slot?.tier === "awake") slot.tier = "restless";
  }

  /** A box that could not be rested is left alone for a while. */
  postpone(id: SessionId, delayMs: number): void {
    const slot = this.#slots.get(id);
    if (slot !== undefined) slot.leaveUntil = this.#deps.clock.elapsed() + delayMs;
  }

  /** Milliseconds since the last hold ended; null while somebody holds the box, and where there is none. */
  idleMs(id: SessionId): number | null {
    const slot = this.#slots.get(id);
    return slot === undefined || this.holds(id) > 0 ? null : this.#deps.clock.elapsed() - slot.idleSince;
  }

  /** Boxes of sessions that nobody uses and that may be rested, the longest idle first. */
  idle(): readonly IdleBox[] {
    const now = this.#deps.clock.elapsed();
    return [...this.#slots]
      .filter(([id, slot]) => this.#isIdle(id, slot) && !isSpare(slot) && slot.leaveUntil <= now)
      .map(([id, { tier, idleSince }]) => ({ id, tier, idleMs: now - idleSince }))
      .toSorted((one, other) => other.idleMs - one.idleMs);
  }

  /** Whether nobody holds the box and nobody is closing it. */
  isFree(id: SessionId): boolean {
    const slot = this.#slots.get(id);
    return slot !== undefined && this.#isIdle(id, slot);
  }

  #isIdle(id: SessionId, slot: Slot): boolean {
    return slot.closing === null && this.holds(id) === 0;
  }

  #firstToRest(): SessionId | null {
    const idle = [...this.#slots].filter(([id, slot]) => this.#isIdle(id, slot) && takesPlace(slot));
    const [first] = idle.toSorted(
      ([, one], [, other]) =>
        Number(isSpare(other)) - Number(isSpare(one)) || one.idleSince - other.idleSince,
    );
    return first?.[0] ?? null;
  }

  #full(): ServiceError {
    const { maxBoxes } = this.#deps;
    const used = this.count;
    return new ServiceError(
      "box.capacity",
      `All ${used} boxes are in use; the limit is ${maxBoxes} (boxes.max_boxes).`,
      { hint: "Try again when another run has ended.", details: { limit: maxBoxes, used } },
    );
  }
}

function takesPlace({ tier }: Slot): boolean {
  return tier !== "stopped";
}

function isSpare({ box }: Slot): boolean {
  return box.tenant === POOL_TENANT;
}
