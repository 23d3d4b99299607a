/** The helpers of all boxes of one engine: one per running container, shared by its leases, or none where it cannot be had. */
import { ServiceError, toServiceError } from "../../domain/errors.js";
import { POOL_TENANT } from "../../domain/session.js";
import type { BoxPlace, EngineFacts } from "../../ports/box-backend.js";
import type { BoxHandle } from "../../ports/box-handle.js";
import type { BoxHelper, HelperSession } from "../../ports/box-helper.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import type { BoxAccess } from "./box-access.js";
import type { HelperMount } from "./container-body.js";
import type { HelperVolume } from "./helper-volume.js";
import type { SocketTransport } from "./socket-transport.js";

export interface BoxHelpersDeps {
  readonly helper: BoxHelper;
  readonly volume: HelperVolume;
  /** Null where boxes are served over exec streams. */
  readonly sockets: SocketTransport | null;
  readonly logger: Logger;
}

interface Served {
  readonly place: BoxPlace;
  readonly access: BoxAccess;
  readonly session: HelperSession;
}

export class BoxHelpers implements AsyncDisposable {
  readonly #deps: BoxHelpersDeps;
  /** By name of the container. */
  readonly #served = new Map<string, Served>();
  /** Why the last helper that was wanted could not be had. */
  #trouble: string | null = null;

  constructor(deps: BoxHelpersDeps) {
    this.#deps = deps;
  }

  /** For the status; null while all is well. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** How boxes are reached; null until that was tried. */
  get transport(): EngineFacts["transport"] {
    const { sockets } = this.#deps;
    if (this.#trouble !== null) return "worker";
    if (sockets === null) return "exec_stream";
    if (sockets.isProven === null) return null;
    return sockets.isProven ? "socket" : "exec_stream";
  }

  /** @returns null where boxes have to do without a helper */
  async mount(options: CallOptions): Promise<HelperMount | null> {
    try {
      const mount = await this.#deps.volume.ready(options);
      this.#trouble = null;
      return mount;
    } catch (error) {
      options.signal.throwIfAborted();
      this.#note(error);
      return null;
    }
  }

  /**
   * A handle over the helper of a running box.
   * @returns null when no helper starts in it
   * @throws ServiceError `box.readiness` when the box does not run
   */
  async lease(place: BoxPlace, access: BoxAccess, options: CallOptions): Promise<BoxHandle | null> {
    const served = await this.#serve(place, access);
    try {
      await served.session.ready(options);
      return served.session.lease();
    } catch (error) {
      if (this.#served.get(access.container) === served) await this.drop(access.container);
      options.signal.throwIfAborted();
      if (error instanceof ServiceError && error.code === "box.readiness") throw error;
      this.#note(error);
      return null;
    }
  }

  /** A handle over a helper that is connected to this life of the box; null where there is none. */
  leaseServed(place: BoxPlace, startedAt: string): BoxHandle | null {
    const served = this.#served.get(place.container);
    if (served === undefined || !isSameBox(served.place, place)) return null;
    if (served.access.startedAt !== startedAt || !served.session.isLive) return null;
    return served.session.lease();
  }

  /** Lets go of a container that is gone. */
  async forget(container: string): Promise<void> {
    await this.drop(container);
    await this.#deps.sockets?.remove(container);
  }

  /** The container is about to stand still: silence of its helper means nothing until it is resumed. */
  suspend(container: string): void {
    this.#served.get(container)?.session.suspend();
  }

  resume(container: string): void {
    this.#served.get(container)?.session.resume();
  }

  /** Ends the helper of a container that is about to go. */
  async drop(container: string): Promise<void> {
    const served = this.#served.get(container);
    this.#served.delete(container);
    await served?.session[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#served.keys()].map(async (container) => this.drop(container)));
  }

  /** Another life of the container has nothing of the helper that was started in the one before. */
  async #serve(place: BoxPlace, access: BoxAccess): Promise<Served> {
    const known = this.#served.get(access.container);
    if (known?.access.startedAt === access.startedAt) return known;
    const served = { place, access, session: this.#deps.helper.serve(access) };
    this.#served.set(access.container, served);
    // It has ended with its container; only what the service holds of it is let go.
    await known?.session[Symbol.asyncDispose]();
    return served;
  }

  /** Said once as long as the reason stays the same. */
  #note(error: unknown): void {
    const { message } = toServiceError(error);
    if (this.#trouble === message) return;
    this.#trouble = message;
    this.#deps.logger.warn(
      { image: this.#deps.helper.image },
      "Boxes are served without their helper.",
      error,
    );
  }
}

/** What was opened for the pool is of whoever's session has got it since, as the labels of its container are. */
function isSameBox(served: BoxPlace, asked: BoxPlace): boolean {
  const isTenants = served.tenant === asked.tenant || served.tenant === POOL_TENANT;
  return (
    isTenants &&
    served.sessionId === asked.sessionId &&
    served.uid === asked.uid &&
    served.volume === asked.volume
  );
}
