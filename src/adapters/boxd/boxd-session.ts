/**
 * The helper of one running box: started when it is needed, shared by all leases, replaced when it was lost. Before a new
 * one starts, everything the lost one may have left is ended; after two faults the whole box starts anew (box §6.2).
 */
import { ServiceError } from "../../domain/errors.js";
import type { BoxLimits } from "../../domain/exec-outcome.js";
import { describeNoSpace } from "../../domain/no-space.js";
import { SingleFlight } from "../../lib/single-flight.js";
import type { BoxHandle } from "../../ports/box-handle.js";
import type { Clearing, HelperGround, HelperSession } from "../../ports/box-helper.js";
import type { Clock } from "../../ports/clock.js";
import type { EgressBroker } from "../../ports/egress-broker.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import type { BoxdCommand } from "./boxd-command.js";
import { BoxdConnection } from "./boxd-connection.js";
import { BoxdHandle } from "./boxd-handle.js";
import { BoxdRelay, proxyVariables } from "./boxd-relay.js";
import { helperFault } from "./frame-codec.js";
import { FullDiskWatch } from "./full-disk-watch.js";
import { measureWorkspace } from "./measure-workspace.js";
import { type QuotaGuard, QuotaWatch } from "./quota-watch.js";
import type { SharedHelper } from "./shared-helper.js";

const MAX_FAULTS = 2;

export interface BoxdSessionDeps {
  readonly ground: HelperGround;
  /** Carries what boxes with a network say; null = there is none. */
  readonly broker: EgressBroker | null;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class BoxdSession implements HelperSession, SharedHelper {
  readonly #deps: BoxdSessionDeps;
  readonly #flight = new SingleFlight<"connect", BoxdConnection>();
  readonly #recoveries = new WeakMap<BoxdConnection, Promise<Clearing | null>>();
  readonly quota: QuotaGuard;
  readonly commands = new Set<BoxdCommand>();
  /** Ends the measuring of the workspace. */
  readonly #life = new AbortController();
  #connection: BoxdConnection | null = null;
  #faults = 0;
  /** Never rejects. */
  #waking: Promise<void> = Promise.resolve();
  #wokenAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(deps: BoxdSessionDeps) {
    this.#deps = deps;
    this.quota = this.#makeGuard();
  }

  get limits(): BoxLimits {
    return this.#deps.ground.limits;
  }

  get container(): string {
    return this.#deps.ground.container;
  }

  get isLive(): boolean {
    return this.#connection?.isLive ?? false;
  }

  async isHostFull(): Promise<boolean> {
    return (await this.#deps.ground.isHostFull?.()) ?? false;
  }

  /** Why a file of this size did not fit: limit, use and what to do. */
  async explainNoSpace(sizeBytes: number): Promise<string> {
    const [use, isHostFull] = await Promise.all([this.quota.use(), this.isHostFull()]);
    return describeNoSpace({ sizeBytes, use, isHostFull, limits: this.limits });
  }

  async wasWokenSince(elapsed: number): Promise<boolean> {
    await this.#waking;
    return this.#wokenAt >= elapsed;
  }

  lease(): BoxHandle {
    return new BoxdHandle({ ...this.#deps, session: this });
  }

  suspend(): void {
    this.#connection?.suspend();
  }

  resume(): void {
    this.#connection?.resume();
  }

  async ready(options: CallOptions): Promise<void> {
    if (this.#connection !== null) await this.connect(options);
    else await this.#flight.run("connect", async (signal) => this.#open({ signal }), options);
  }

  /**
   * The connection to a helper that lives, a new one where there is none.
   * @throws ServiceError `box.readiness` when the box does not run, `box.engine_unavailable` when it takes no helper
   */
  async connect(options: CallOptions): Promise<BoxdConnection> {
    const current = this.#connection;
    if (current?.end === null) return current;
    return this.#flight.run("connect", async (signal) => this.#reconnect({ signal }), options);
  }

  /**
   * Ends whatever a lost helper may have left, once per helper.
   * @returns null when the box itself has ended
   */
  async recover(connection: BoxdConnection): Promise<Clearing | null> {
    const known = this.#recoveries.get(connection);
    if (known !== undefined) return known;
    const recovery = this.#recover(connection);
    this.#recoveries.set(connection, recovery);
    // What failed is tried again by the next one who needs it.
    recovery.catch(() => this.#recoveries.delete(connection));
    return recovery;
  }

  /** Ends everything in the box, the helper included. */
  async clear(): Promise<Clearing | null> {
    const current = this.#connection;
    if (current === null) return this.#deps.ground.clear();
    await current[Symbol.asyncDispose]();
    return this.recover(current);
  }

  async isStopped(): Promise<boolean> {
    return this.#deps.ground.isStopped(this.#signal).catch(() => false);
  }

  /** The helper did not do its work: it is dropped, and whoever waits for it hears so. */
  abandon(connection: BoxdConnection): void {
    connection.fail(helperFault("The helper did not end a command in time."));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#life.abort();
    await this.#connection?.[Symbol.asyncDispose]();
  }

  #makeGuard(): QuotaGuard {
    const { ground, clock } = this.#deps;
    const { quotaMib, entries: maxEntries } = ground.limits;
    const { disk: look = null } = ground;
    const isHostFull = async (): Promise<boolean> => this.isHostFull();
    if (look !== null) return new FullDiskWatch({ look, isHostFull, elapsed: () => clock.elapsed() });
    return new QuotaWatch({
      quotaMib,
      maxEntries,
      isHostFull,
      measure: async () =>
        measureWorkspace(async (options) => this.connect(options), { ...this.#signal, maxEntries }),
      elapsed: () => clock.elapsed(),
    });
  }

  get #signal(): CallOptions {
    return { signal: this.#life.signal };
  }

  async #recover(connection: BoxdConnection): Promise<Clearing | null> {
    const { ground, logger } = this.#deps;
    const { end } = connection;
    if (end?.type === "fault") {
      this.#faults += 1;
      logger.warn(
        { container: this.container, count: this.#faults },
        "The helper of a box broke the protocol.",
        end.cause,
      );
    }
    await connection[Symbol.asyncDispose]();
    if (this.#faults < MAX_FAULTS) return ground.clear();
    this.#faults = 0;
    return ground.restart();
  }

  /** With stronger and stronger means, because a box may be full of processes or end every helper at once. */
  async #reconnect(options: CallOptions): Promise<BoxdConnection> {
    const lost = this.#connection;
    if (lost?.end === null) return lost;
    if (lost !== null && (await this.recover(lost)) === null) throw boxEnded();
    const { ground } = this.#deps;
    for (const clear of [async () => ground.clear(), async () => ground.restart()]) {
      const connection = await this.#tryToOpen(options);
      if (connection !== null) return connection;
      if ((await clear()) === null) throw boxEnded();
    }
    return this.#open(options);
  }

  /** @returns null when the box runs and took no helper */
  async #tryToOpen(options: CallOptions): Promise<BoxdConnection | null> {
    try {
      return await this.#open(options);
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof ServiceError && error.code === "box.readiness") throw error;
      this.#deps.logger.warn({ container: this.container }, "No helper could be started in a box.", error);
      return null;
    }
  }

  async #open(options: CallOptions): Promise<BoxdConnection> {
    const connection = await BoxdConnection.open(await this.#deps.ground.openChannel(options), options);
    if (this.#isClosed) {
      await connection[Symbol.asyncDispose]();
      throw boxEnded();
    }
    await this.#startRelay(connection, options);
    connection.onSilence = () => {
      this.#waking = this.#wake();
    };
    this.#connection = connection;
    return connection;
  }

  /** The helper may stand still with its box. When the engine cannot tell, the silence becomes a fault in time. */
  async #wake(): Promise<void> {
    const { ground, clock, logger } = this.#deps;
    try {
      if (!(await ground.wake(this.#signal))) return;
      this.#wokenAt = clock.elapsed();
      logger.info({ container: this.container }, "A box that somebody had paused was woken.");
    } catch (error) {
      if (this.#isClosed) return;
      logger.warn({ container: this.container }, "A silent box could not be looked at.", error);
    }
  }

  /** @throws ServiceError `box.readiness` for a box that cannot have the network it was promised */
  async #startRelay(connection: BoxdConnection, options: CallOptions): Promise<void> {
    const { ground, broker } = this.#deps;
    if (ground.egress === undefined || ground.egress === null) return;
    try {
      if (broker === null)
        throw new ServiceError("box.readiness", "This service carries no network of boxes.");
      const port = await BoxdRelay.start(connection, broker.serve(ground.egress), options);
      connection.environment = proxyVariables(port);
    } catch (error) {
      await connection[Symbol.asyncDispose]();
      throw error;
    }
  }
}

function boxEnded(): ServiceError {
  return new ServiceError("box.readiness", "The box does not run.", {
    hint: "Acquire the box again; its files are kept.",
  });
}
