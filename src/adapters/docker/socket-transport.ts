/**
 * Channels over unix sockets, where the engine's containers run on this machine: proven by a container that dials back
 * before any box gets a directory for it. What does not come about is said once, and exec streams serve instead.
 */
import type { Duplex } from "node:stream";
import { ServiceError } from "../../domain/errors.js";
import { linkSignals } from "../../lib/link-signals.js";
import { TimeLimit } from "../../lib/time-limit.js";
import type { BoxChannel } from "../../ports/box-channel.js";
import type { IdSource } from "../../ports/id-source.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import { DialIn } from "./dial-in.js";
import { DialledHelper } from "./dialled-helper.js";
import { SocketChannel } from "./socket-channel.js";
import { type SocketPlace, SocketPlaces } from "./socket-places.js";

const DIAL_MS = 5000;
const TOKEN_DIGITS = 32;

export interface SocketTransportDeps {
  /** Directory of the service's own, for nothing else. */
  readonly directory: string;
  readonly ids: IdSource;
  readonly logger: Logger;
  /** Names of all containers of this service. */
  readonly listContainers: (options: CallOptions) => Promise<readonly string[]>;
}

/** What a program needs to dial in. */
export interface DialPlan {
  readonly place: SocketPlace;
  readonly token: string;
}

export class SocketTransport {
  readonly #deps: SocketTransportDeps;
  #places: SocketPlaces | null = null;
  /** Null until it was tried. */
  #isProven: boolean | null = null;

  constructor(deps: SocketTransportDeps) {
    this.#deps = deps;
  }

  /** Whether containers of the engine can reach sockets of this machine; null until that was tried. */
  get isProven(): boolean | null {
    return this.#isProven;
  }

  /**
   * Tries it with a program that dials in and ends when it is let go, and removes what boxes that are gone have left.
   * @param run runs it to its end and answers its exit code
   */
  async prove(run: (plan: DialPlan) => Promise<number>, options: CallOptions): Promise<boolean> {
    const { ids, listContainers } = this.#deps;
    const name = `probe-${ids.randomHex(TOKEN_DIGITS)}`;
    try {
      const places = await this.#open();
      await places.keepOnly(await listContainers(options));
      const plan = { place: await places.make(name), token: ids.randomHex(TOKEN_DIGITS) };
      this.#isProven = await isAnswered(plan, run, options);
      await places.remove(name);
      if (!this.#isProven) this.#note(new Error("A container of the engine did not reach it."));
    } catch (error) {
      options.signal.throwIfAborted();
      this.#isProven = false;
      this.#note(error);
    }
    return this.#isProven;
  }

  /** Where a container that is about to start will dial in. @returns null where it cannot */
  async make(container: string): Promise<SocketPlace | null> {
    if (this.#isProven !== true) return null;
    try {
      return await (await this.#open()).make(container);
    } catch (error) {
      this.#note(error);
      return null;
    }
  }

  /** Whether a container was made to dial in at this service as it stands. */
  async serves(container: string, label: string | undefined): Promise<boolean> {
    if (label === undefined) return false;
    try {
      return (await this.#open()).nameOf(container) === label;
    } catch {
      return false;
    }
  }

  /**
   * Lets the helper of a box dial in.
   * @param start starts the helper
   * @returns null when it does not come
   * @throws ServiceError `box.readiness` when the box does not run
   */
  async dial(
    container: string,
    start: (plan: DialPlan) => Promise<Duplex>,
    options: CallOptions,
  ): Promise<BoxChannel | null> {
    try {
      const place = await (await this.#open()).make(container);
      return await dialOnce({ place, token: this.#deps.ids.randomHex(TOKEN_DIGITS) }, start, options);
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof ServiceError && error.code === "box.readiness") throw error;
      this.#deps.logger.warn(
        { container },
        "The helper of a box did not dial in; an exec stream serves it.",
        error,
      );
      return null;
    }
  }

  /** Forgets a container that is gone. */
  async remove(container: string): Promise<void> {
    try {
      await this.#places?.remove(container);
    } catch (error) {
      this.#deps.logger.warn({ container }, "The directory of a box's socket could not be removed.", error);
    }
  }

  async #open(): Promise<SocketPlaces> {
    this.#places ??= await SocketPlaces.open(this.#deps.directory);
    return this.#places;
  }

  #note(error: unknown): void {
    const reason = error instanceof Error ? error.message : "";
    this.#deps.logger.info(
      { reason },
      "Boxes are served over exec streams: no socket of this machine can be used.",
    );
  }
}

async function isAnswered(
  plan: DialPlan,
  run: (plan: DialPlan) => Promise<number>,
  options: CallOptions,
): Promise<boolean> {
  await using dialIn = await DialIn.listen(plan.place.socketPath, plan.token);
  const ended = new AbortController();
  const exit = run(plan).finally(() => ended.abort(new Error("The program ended.")));
  // It is waited for below, after the call that it may make or not.
  exit.catch(() => undefined);
  using given = linkSignals(options.signal, ended.signal);
  const hasDialled = await dialIn.accept(given).then(
    (socket) => socket.destroy().destroyed,
    () => false,
  );
  return (await exit) === 0 && hasDialled;
}

async function dialOnce(
  plan: DialPlan,
  start: (plan: DialPlan) => Promise<Duplex>,
  { signal }: CallOptions,
): Promise<BoxChannel> {
  await using dialIn = await DialIn.listen(plan.place.socketPath, plan.token);
  const helper = new DialledHelper(await start(plan));
  try {
    using limit = new TimeLimit(() => new Error(`The helper did not dial in within ${DIAL_MS / 1000} s.`));
    limit.restart(DIAL_MS);
    using given = linkSignals(signal, limit.signal, helper.ended);
    return new SocketChannel(await dialIn.accept(given), helper);
  } catch (error) {
    helper[Symbol.dispose]();
    throw error;
  }
}
