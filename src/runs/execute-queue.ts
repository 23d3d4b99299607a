/** Runs wait in the line of their conversation, are claimed at their turn, and are executed here (runs §7.5, §20.3). */
import type { ServiceError } from "../domain/errors.js";
import type { RunId } from "../domain/ids.js";
import { isTerminal } from "../domain/run.js";
import type { Clock } from "../ports/clock.js";
import type { Logger } from "../ports/logger.js";
import type { RunRecord, RunStore } from "../ports/run-store.js";
import type { SteeringStore } from "../ports/steering-store.js";
import type { ActiveRuns } from "./active-runs.js";
import { type Claims, claimLost } from "./claims.js";
import { ConversationQueue } from "./conversation-queue.js";
import type { Orchestrator } from "./orchestrator.js";
import { endInterrupted, type RecoverDeps, resumeAbandoned } from "./recover-runs.js";

export interface ExecuteQueueDeps {
  readonly runs: RunStore;
  readonly steering: SteeringStore;
  readonly active: ActiveRuns;
  readonly orchestrator: Pick<Orchestrator, "execute" | "endUnstarted">;
  readonly claims: Claims;
  readonly recovery: RecoverDeps;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Milliseconds after which a queued run that this process does not know is taken for one that nobody knows. */
const ADRIFT_MS = 20_000;

export class ExecuteQueue {
  readonly #deps: ExecuteQueueDeps;
  readonly #lines: ConversationQueue;
  readonly #executions = new Set<Promise<void>>();
  /** Runs that wait or execute here. */
  readonly #open = new Map<RunId, RunRecord>();
  /** Runs that this process has claimed. */
  readonly #claimed = new Set<RunId>();
  /** Why a run is not to begin, told between its turn and its begin. */
  readonly #stopped = new Map<RunId, ServiceError>();
  /** Runs that took in messages. */
  readonly #absorbing = new Set<RunId>();
  /** Runs that are over, and whose end the store did not take. */
  readonly #lostRuns = new Map<RunId, RunRecord>();
  #isStopping = false;

  constructor(deps: ExecuteQueueDeps) {
    this.#deps = deps;
    this.#lines = new ConversationQueue((runId) => this.#begin(runId));
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  find(id: RunId): RunRecord | null {
    return this.#open.get(id) ?? null;
  }

  enqueue(run: RunRecord): void {
    this.#open.set(run.id, run);
    this.#lines.enter(lineOf(run), run.id);
  }

  isBusy(run: Place): boolean {
    return this.#lines.isBusy(lineOf(run));
  }

  isWaiting(run: RunRecord): boolean {
    return this.#lines.isWaiting(lineOf(run), run.id);
  }

  /** @throws ServiceError `run.queue_full` when 100 messages wait already */
  checkRoom(place: Place): void {
    this.#lines.checkRoom(lineOf(place));
  }

  /** The run of a conversation that is going on, if nothing waits behind it: a message overtakes no other. */
  goingOn(place: Place): RunRecord | null {
    const line = lineOf(place);
    const current = this.#lines.current(line);
    if (current === null || this.#lines.waiting(line).length > 0) return null;
    return this.find(current);
  }

  /** Says that messages wait for a run, so that they get a place in the line when it ends. */
  absorbs(id: RunId): void {
    this.#absorbing.add(id);
  }

  /** Runs that wait behind the one that is going on, in order. */
  waiting(place: Place): readonly RunRecord[] {
    return this.#lines.waiting(lineOf(place)).flatMap((id) => this.#open.get(id) ?? []);
  }

  /** Takes a run that has not begun out of its line. @returns false when it does not wait */
  withdraw(run: RunRecord): boolean {
    if (!this.#lines.withdraw(lineOf(run), run.id)) return false;
    this.#open.delete(run.id);
    return true;
  }

  /** Ends a run, wherever it stands; one that is not here is left alone. */
  async stopRun(run: RunRecord, reason: ServiceError): Promise<void> {
    if (this.#deps.active.stop(run.id, reason)) return;
    if (this.withdraw(run)) await this.#deps.orchestrator.endUnstarted(run, reason);
    else if (this.#open.has(run.id)) this.#stopped.set(run.id, reason);
  }

  /** Begins nothing more, gives the running ones `graceMs`, then interrupts them (api §7). */
  async stop(graceMs: number, reason: ServiceError): Promise<void> {
    this.#isStopping = true;
    const limit = AbortSignal.timeout(graceMs);
    const interrupt = (): void => this.#deps.active.stopAll(reason);
    limit.addEventListener("abort", interrupt, { once: true });
    await Promise.all(this.#executions);
    limit.removeEventListener("abort", interrupt);
  }

  /** Holds the claims, ends what has lost its worker, and takes in runs that nobody looks after. */
  async lookAfter(): Promise<void> {
    const held = await this.#deps.claims.renew();
    for (const id of this.#claimed) if (!held.has(id)) this.#deps.active.stop(id, claimLost());
    await this.endLost();
    const now = this.#deps.clock.now();
    const adrift = await this.#deps.runs.listAdrift(now, now - ADRIFT_MS);
    for (const run of adrift) if (!this.#open.has(run.id)) await this.#takeIn(run);
  }

  /** Ends the runs whose end could not be written when it came: none stays `running` without a worker (runs §20.4). */
  async endLost(): Promise<void> {
    for (const [runId, run] of this.#lostRuns) {
      const record = await this.#deps.runs.get(run.tenant, runId);
      const isOwn = record !== null && !isTerminal(record.state) && record.epoch === run.epoch;
      if (isOwn) await endInterrupted(this.#deps.recovery, record);
      this.#lostRuns.delete(runId);
    }
  }

  async #takeIn(run: RunRecord): Promise<void> {
    const queued = run.state === "queued" ? run : await resumeAbandoned(this.#deps.recovery, run);
    if (queued !== null && !this.#isStopping) this.enqueue(queued);
  }

  #begin(runId: RunId): void {
    const run = this.#open.get(runId);
    if (run === undefined || this.#isStopping) return;
    const execution = this.#execute(run).finally(() => {
      this.#executions.delete(execution);
      this.#open.delete(runId);
      this.#stopped.delete(runId);
      this.#lines.leave(lineOf(run), runId);
    });
    this.#executions.add(execution);
  }

  async #execute(queued: RunRecord): Promise<void> {
    const run = await this.#claim(queued);
    if (run === null) return;
    this.#claimed.add(run.id);
    try {
      const reason = this.#stopped.get(run.id);
      if (reason !== undefined) await this.#deps.orchestrator.endUnstarted(run, reason);
      else if (this.#isStopping) await this.#deps.claims.giveBack(run);
      else await this.#deps.orchestrator.execute(run);
      await this.#queueAbsorbed(run);
    } catch (error) {
      this.#lost(run, error);
    } finally {
      this.#claimed.delete(run.id);
      this.#absorbing.delete(run.id);
    }
  }

  /** A run that cannot be claimed is another worker's, or stays queued until somebody looks after it. */
  async #claim(run: RunRecord): Promise<RunRecord | null> {
    try {
      return await this.#deps.claims.take(run.id);
    } catch (error) {
      const fields = { runId: run.id, code: "internal" };
      this.#deps.logger.error(fields, "A run could not be claimed.", error);
      return null;
    }
  }

  /** Messages that the run did not take go to the head of its line, in order (runs §14.6). */
  async #queueAbsorbed(run: RunRecord): Promise<void> {
    if (!this.#absorbing.has(run.id)) return;
    const items = await this.#deps.steering.listByRun(run.tenant, run.id);
    const left: RunRecord[] = [];
    for (const { id, place } of items) {
      const own = place === "queue" ? await this.#deps.runs.get(run.tenant, id) : null;
      if (own?.state === "queued" && !this.#open.has(id)) left.push(own);
    }
    for (const own of left) this.#open.set(own.id, own);
    this.#lines.enterFirst(
      lineOf(run),
      left.map(({ id }) => id),
    );
  }

  /** The store itself failed: the ledger keeps the run open until `endLost` can write. */
  #lost(run: RunRecord, error: unknown): void {
    const runId = run.id;
    this.#lostRuns.set(runId, run);
    this.#deps.logger.error({ runId, code: "internal" }, "The end of a run could not be written.", error);
  }
}

type Place = Pick<RunRecord, "tenant" | "conversation">;

function lineOf({ tenant, conversation }: Place): string {
  return JSON.stringify([tenant, conversation]);
}
