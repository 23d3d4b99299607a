/** What is done for boxes at the start and again and again: engine probed, records compared, idle boxes rested, pool filled. */
import { CleanupStack } from "../lib/cleanup-stack.js";
import { PeriodicTask } from "../lib/periodic-task.js";
import type { CallOptions } from "../ports/options.js";
import type { EngineWatch } from "./engine-watch.js";
import { IdleReaper } from "./idle-reaper.js";
import { type IdleSchedule, lookEveryMs } from "./idle-tiers.js";
import { type ReconcileDeps, reconcileBoxes } from "./reconcile-boxes.js";
import type { RestDeps } from "./rest-box.js";
import type { WarmPool } from "./warm-pool.js";

export interface UpkeepDeps extends RestDeps, Omit<ReconcileDeps, "workspaceTtlMs"> {
  readonly engine: EngineWatch;
  readonly pool: Pick<WarmPool, "tend">;
}

export interface UpkeepSettings {
  /** Null = boxes are never rested for being idle. */
  readonly schedule: IdleSchedule | null;
  readonly maxBoxes: number;
  /** 0 = workspaces are kept for ever. */
  readonly workspaceTtlDays: number;
}

const PROBE_EVERY_MS = 30_000;
const RECONCILE_EVERY_MS = 60_000;
const TEND_EVERY_MS = 1000;
const DAY_MS = 86_400_000;

export class Upkeep implements AsyncDisposable {
  readonly #deps: UpkeepDeps;
  readonly #settings: UpkeepSettings;
  readonly #reaper: IdleReaper | null;
  readonly #tasks: readonly PeriodicTask[];

  constructor(deps: UpkeepDeps, settings: UpkeepSettings) {
    this.#deps = deps;
    this.#settings = settings;
    const { schedule, maxBoxes: maxStopped } = settings;
    this.#reaper = schedule === null ? null : new IdleReaper(deps, { schedule, maxStopped });
    this.#tasks = this.#makeTasks();
  }

  /** Takes over the boxes of the process before, and starts the loops. An engine that does not answer is no failure. */
  async start(options: CallOptions): Promise<void> {
    await this.#takeOver();
    const engine = await this.#deps.engine.check(options);
    // Also where no box may be made: those of the process before are there.
    if (engine.state !== "unavailable" || engine.code !== "box.engine_unavailable")
      await this.#reconcileAtStart(options);
    for (const task of this.#tasks) task.start();
  }

  /** Stops the loops; boxes and workspaces stay. */
  async [Symbol.asyncDispose](): Promise<void> {
    const ending = this.#reaper === null ? this.#tasks : [...this.#tasks, this.#reaper];
    await using _ending = new CleanupStack(ending.map((each) => () => each[Symbol.asyncDispose]()));
  }

  /** Containers that the records name count from the start, idle since their last use. */
  async #takeOver(): Promise<void> {
    const { sessions, boxes, clock } = this.#deps;
    for (const { id, tenant, container, uid, lastUsedAt } of await sessions.listAll())
      if (container !== null)
        boxes.set(
          id,
          { tenant, container, uid, settings: null, startedAt: null },
          Math.max(0, clock.now() - lastUsedAt),
        );
  }

  async #reconcileAtStart(options: CallOptions): Promise<void> {
    try {
      await this.#reconcile(options);
    } catch (error) {
      options.signal.throwIfAborted();
      this.#note("The boxes could not be compared with the records.", error);
    }
  }

  async #reconcile(options: CallOptions): Promise<void> {
    const { workspaceTtlDays } = this.#settings;
    const workspaceTtlMs = workspaceTtlDays > 0 ? workspaceTtlDays * DAY_MS : Infinity;
    await reconcileBoxes({ ...this.#deps, workspaceTtlMs }, options);
  }

  #makeTasks(): readonly PeriodicTask[] {
    const { engine, pool } = this.#deps;
    const { schedule } = this.#settings;
    const reaper = this.#reaper;
    const rounds: { readonly everyMs: number; readonly work: (signal: AbortSignal) => Promise<void> }[] = [
      { everyMs: PROBE_EVERY_MS, work: async (signal) => void (await engine.check({ signal })) },
      { everyMs: RECONCILE_EVERY_MS, work: (signal) => this.#reconcile({ signal }) },
      { everyMs: TEND_EVERY_MS, work: (signal) => pool.tend({ signal }) },
    ];
    if (schedule !== null) rounds.push({ everyMs: lookEveryMs(schedule), work: async () => reaper?.look() });
    const onError = (error: unknown): void => this.#note("A round of looking after boxes failed.", error);
    return rounds.map((round) => new PeriodicTask({ ...round, onError }));
  }

  #note(message: string, error: unknown): void {
    this.#deps.errors.add(error, null);
    this.#deps.logger.warn({ engine: this.#deps.backend.engine }, message, error);
  }
}
