/** One box per run for its life: the same again gives the same, and of two different binds exactly one wins (box §4.3). */
import type { BoxLease } from "../../box/box-lease.js";
import { ServiceError } from "../../domain/errors.js";
import type { SessionId } from "../../domain/ids.js";

interface Binding {
  /** The box that was asked for; null = the run's own. */
  readonly asked: SessionId | null;
  readonly lease: Promise<BoxLease>;
}

export interface Bind {
  /** Absent = whichever is bound, else the run's own. */
  readonly box: SessionId | undefined;
  readonly own: SessionId;
  /** Binds the box, null for the run's own. */
  readonly start: (box: SessionId | null) => Promise<BoxLease>;
}

export class OneBinding {
  #current: Binding | null = null;

  /**
   * A bind that failed leaves nothing behind: the next one begins anew.
   * @throws ServiceError `box.bind_conflict` for another box than the bound one
   */
  async bind({ box, own, start }: Bind): Promise<BoxLease> {
    const asked = box === undefined || box === own ? null : box;
    // While another bind is on its way it decides: where it fails, this one has its turn.
    for (let current = this.#current; current !== null && current.asked !== asked; current = this.#current) {
      const held = await settled(current.lease);
      if (held === null) continue;
      if (box === undefined || held.session.id === box) return held;
      throw new ServiceError("box.bind_conflict", "A run cannot change its box after binding.", {
        hint: "Go on with the box that is bound; another one needs another run.",
        details: { bound: held.session.id },
      });
    }
    this.#current ??= { asked, lease: this.#try(() => start(asked)) };
    return this.#current.lease;
  }

  /** The lease once a bind on its way has ended; null where there is none. */
  async settled(): Promise<BoxLease | null> {
    return this.#current === null ? null : settled(this.#current.lease);
  }

  async #try(start: () => Promise<BoxLease>): Promise<BoxLease> {
    try {
      return await start();
    } catch (error) {
      this.#current = null;
      throw error;
    }
  }
}

async function settled(lease: Promise<BoxLease>): Promise<BoxLease | null> {
  try {
    return await lease;
  } catch {
    return null;
  }
}
