/** The part of the host's disk that boxes never use up: what they grow by is refused or stopped before (box §10.5). */
import { statfs } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { ServiceError } from "../../domain/errors.js";

export interface HostReserveDeps {
  /** Directories of the host on whose disks workspaces lie; one that is not there is no concern. */
  readonly places: readonly string[];
  /** MiB that stay free; 0 = none. */
  readonly reserveMib: number;
  /** Milliseconds that never run backwards. */
  readonly elapsed: () => number;
}

/** What the adapter asks of it. */
export type Reserve = Pick<HostReserve, "include" | "isReached" | "warning" | "require">;

const MIB = 1024 * 1024;
/** Many boxes may ask at once. */
const FRESH_MS = 200;

export class HostReserve {
  readonly #deps: HostReserveDeps;
  readonly #places: Set<string>;
  #look: { readonly at: number; readonly isReached: Promise<boolean> } | null = null;

  constructor(deps: HostReserveDeps) {
    this.#deps = deps;
    this.#places = new Set(deps.places);
  }

  /** One more directory of the host, as what an engine calls its own. */
  include(place: string): void {
    if (isAbsolute(place)) this.#places.add(place);
  }

  /** Whether a disk is down to the reserve. Never rejects: a disk that cannot be asked stops nobody. */
  async isReached(): Promise<boolean> {
    if (this.#deps.reserveMib === 0) return false;
    const now = this.#deps.elapsed();
    if (this.#look === null || now - this.#look.at > FRESH_MS)
      this.#look = { at: now, isReached: this.#measure() };
    return this.#look.isReached;
  }

  /** One sentence for the status; null while there is room. */
  async warning(): Promise<string | null> {
    return (await this.isReached()) ? this.#says() : null;
  }

  /** @throws ServiceError `box.quota` when a disk is down to the reserve */
  async require(): Promise<void> {
    if (!(await this.isReached())) return;
    throw new ServiceError("box.quota", this.#says(), {
      hint: "Free space on the machine of the engine, or lower boxes.disk_reserve_mb.",
    });
  }

  #says(): string {
    return `The disk that keeps the workspaces has less than its reserve of ${this.#deps.reserveMib} MiB free: boxes cannot grow.`;
  }

  async #measure(): Promise<boolean> {
    const looks = await Promise.allSettled([...this.#places].map(async (place) => statfs(place)));
    return looks.some(
      (look) =>
        look.status === "fulfilled" && look.value.bavail * look.value.bsize < this.#deps.reserveMib * MIB,
    );
  }
}
