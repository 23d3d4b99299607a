/** Runs as surfaces see them: admission, queue, look-up, cancel, retry, acknowledgement (api §2). */
import { ServiceError } from "../domain/errors.js";
import type { RunId } from "../domain/ids.js";
import {
  isTerminal,
  type PublicStatus,
  publicStatus,
  RUN_STATES,
  type Run,
  type RunEvent,
} from "../domain/run.js";
import type { SteeredMessage } from "../domain/steering.js";
import { KeyedLock } from "../lib/keyed-lock.js";
import type { FileStore } from "../ports/file-store.js";
import type { IdempotencyStore } from "../ports/idempotency-store.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";
import type { RunEvents } from "../ports/run-events.js";
import type { RunRecord, RunStore } from "../ports/run-store.js";
import type { SteeringStore } from "../ports/steering-store.js";
import type { TranscriptStore } from "../ports/transcript-store.js";
import { acknowledgeDelivery } from "./acknowledge-delivery.js";
import type { ActiveRuns } from "./active-runs.js";
import { type AdmitDeps, admitMessage, repeatRun } from "./admit-message.js";
import { cancelled, cancelRun } from "./cancel-run.js";
import { Claims } from "./claims.js";
import { ExecuteQueue } from "./execute-queue.js";
import { followRun } from "./follow-run.js";
import { judgeKey } from "./idempotency.js";
import type { Orchestrator } from "./orchestrator.js";
import { type RecoverDeps, recoverRuns } from "./recover-runs.js";
import { toRunObject } from "./run-object.js";
import type { Caller, RunRequest } from "./run-request.js";
import type {
  Admission,
  CancelledRun,
  CancelOptions,
  DeliveryIds,
  DeliveryReport,
  RunPage,
  RunQuery,
  RunService,
} from "./run-service.js";
import { Steering, steeringMessage } from "./steering.js";
import type { SteeringEnds } from "./steering-ends.js";

export interface ServeRunsDeps {
  readonly admit: AdmitDeps;
  readonly runs: RunStore;
  readonly transcripts: TranscriptStore;
  readonly files: FileStore;
  readonly events: RunEvents;
  readonly keys: IdempotencyStore;
  readonly active: ActiveRuns;
  readonly steering: SteeringStore;
  readonly steeringEnds: SteeringEnds;
  readonly orchestrator: Orchestrator;
  readonly logger: Logger;
  /** Name of this process in the ledger; it never repeats. */
  readonly worker: string;
  /** No other process works with the ledger. */
  readonly isExclusive: boolean;
}

export class ServeRuns implements RunService {
  readonly #deps: ServeRunsDeps;
  readonly #recovery: RecoverDeps;
  readonly #queue: ExecuteQueue;
  readonly #steering: Steering;
  readonly #keyLock = new KeyedLock<string>();
  readonly #acceptLock = new KeyedLock<string>();

  constructor(deps: ServeRunsDeps) {
    this.#deps = deps;
    const { clock, plan } = deps.admit;
    const claims = new Claims({ ...deps, clock });
    this.#recovery = { ...deps, pipelines: plan.pipelines, claims, now: () => clock.now() };
    this.#queue = new ExecuteQueue({ ...deps, claims, clock, recovery: this.#recovery });
    this.#steering = new Steering(deps);
  }

  /** Closes what a dead process left and continues its queue (runs §20.4). */
  async start(): Promise<void> {
    const queued = await recoverRuns(this.#recovery, this.#deps.isExclusive);
    for (const run of queued) this.#queue.enqueue(run);
  }

  /** Keeps what this worker holds, and ends or takes in what nobody works for; to be done every few seconds. */
  async lookAfter(): Promise<void> {
    await this.#queue.lookAfter();
  }

  /** Ends the runs whose end could not be written when it came. */
  async endLost(): Promise<void> {
    await this.#queue.endLost();
  }

  async admit(request: RunRequest, caller: Caller, options: CallOptions): Promise<Admission> {
    this.#refuseWhileStopping();
    const id = this.#deps.admit.ids.create("run");
    const { idempotency } = request;
    if (idempotency === null)
      return this.#accept(await this.#make(id, { request, caller }, options), options);
    using _held = await this.#keyLock.acquire(JSON.stringify([caller.tenant, idempotency.key]), options);
    const verdict = await judgeKey(
      {
        keys: this.#deps.keys,
        findRun: (known) => this.#deps.runs.get(caller.tenant, known),
        isSteered: async (known) => (await this.#steering.find(caller.tenant, known)) !== null,
      },
      { tenant: caller.tenant, ...idempotency, runId: id, createdAt: this.#deps.admit.clock.now() },
    );
    if (verdict.kind === "same") return await this.#attach(caller, verdict.runId);
    const run =
      verdict.kind === "again"
        ? repeatRun(verdict.after, id, this.#deps.admit.clock.now())
        : await this.#make(id, { request, caller }, options);
    return await this.#accept(run, options);
  }

  get isStopping(): boolean {
    return this.#queue.isStopping;
  }

  async get(caller: Caller, id: RunId): Promise<Run | SteeredMessage> {
    const run = await this.#deps.runs.get(caller.tenant, id);
    const steered = await this.#steeredOf(caller, id, run);
    return steered ?? this.#toObject(run ?? (await this.#find(caller, id)));
  }

  async list(caller: Caller, query: RunQuery): Promise<RunPage> {
    const { session, chat, status, limit, after } = query;
    const states =
      status === undefined ? undefined : RUN_STATES.filter((state) => publicStatus(state) === status);
    const filter = { session, chat, states, limit: limit + 1, after };
    const records = await this.#deps.runs.list(caller.tenant, filter);
    const runs = await Promise.all(records.slice(0, limit).map((record) => this.#toObject(record)));
    return { runs, hasMore: records.length > limit };
  }

  async wait(caller: Caller, id: RunId, options: CallOptions): Promise<Run> {
    // The number is read first: an event that comes after it ends the wait below.
    const after = await this.#deps.runs.lastSequence(id);
    const run = await this.#find(caller, id);
    if (!isTerminal(run.state)) {
      const events = followRun(this.#deps, { tenant: caller.tenant, id, after }, options);
      while (!(await events.next()).done);
    }
    return this.#toObject(await this.#find(caller, id));
  }

  async follow(
    caller: Caller,
    from: { readonly id: RunId; readonly after: number },
    options: CallOptions,
  ): Promise<AsyncIterable<RunEvent>> {
    await this.#find(caller, from.id);
    return followRun(this.#deps, { tenant: caller.tenant, ...from }, options);
  }

  async cancel(caller: Caller, id: RunId, options: CancelOptions): Promise<CancelledRun> {
    const run = await this.#find(caller, id);
    if (isTerminal(run.state)) throw hasEnded(run.state);
    const deps = {
      ...this.#deps,
      clock: this.#deps.admit.clock,
      queue: this.#queue,
      wait: (stopped: RunRecord, call: CallOptions) => this.wait(caller, stopped.id, call),
    };
    const stopped = await cancelRun(deps, { run, queue: options.queue ?? "keep" }, options);
    if (stopped.status !== "cancelled") throw hasEnded(stopped.status);
    return stopped;
  }

  async steer(
    caller: Caller,
    { id, text }: { readonly id: RunId; readonly text: string },
    options: CallOptions,
  ): Promise<Run | SteeredMessage> {
    this.#refuseWhileStopping();
    const run = await this.#find(caller, id);
    if (isTerminal(run.state)) throw hasEnded(run.state);
    const { ids, clock } = this.#deps.admit;
    const message = steeringMessage(run, { id: ids.create("run"), text, now: clock.now() });
    return (await this.#accept(message, options, run)).run;
  }

  async listSteering(caller: Caller, id: RunId): Promise<readonly SteeredMessage[]> {
    return this.#steering.list(await this.#find(caller, id));
  }

  async retry(caller: Caller, id: RunId, options: CallOptions): Promise<Admission> {
    this.#refuseWhileStopping();
    const run = await this.#find(caller, id);
    if (run.state !== "failed" && run.state !== "timeout")
      throw new ServiceError(
        "run.not_retryable",
        `Only failed and timed-out runs can be repeated; this one is ${run.state}.`,
        {
          hint: "Send a new message instead.",
        },
      );
    const { ids, clock } = this.#deps.admit;
    return this.#accept(repeatRun(run, ids.create("run"), clock.now()), options);
  }

  async acknowledge(caller: Caller, ids: DeliveryIds, report: DeliveryReport): Promise<Run> {
    const { files, runs, admit } = this.#deps;
    const deps = { files, runs, pipelines: admit.plan.pipelines };
    await acknowledgeDelivery(deps, { run: await this.#find(caller, ids.run), fileId: ids.file }, report);
    return this.#toObject(await this.#find(caller, ids.run));
  }

  clientGone(id: RunId): void {
    const run = this.#queue.find(id);
    if (run?.onDisconnect !== "cancel") return;
    void this.#queue.stopRun(run, cancelled()).catch((error: unknown) => {
      this.#deps.logger.error({ runId: id, code: "internal" }, "A run could not be stopped.", error);
    });
  }

  /** Refuses new runs, gives the running ones `graceMs`, then interrupts them (api §7). */
  async stop(graceMs: number): Promise<void> {
    await this.#queue.stop(
      graceMs,
      new ServiceError("run.interrupted", "The service was stopped while this run was going on.", {
        hint: "Repeat it with POST /v1/runs/{id}/retry; files that were exported are kept.",
      }),
    );
  }

  #refuseWhileStopping(): void {
    if (this.#queue.isStopping)
      throw new ServiceError("service.stopping", "The service is stopping and takes no new runs.", {
        hint: "Try again in a moment.",
      });
  }

  async #make(
    id: RunId,
    from: { readonly request: RunRequest; readonly caller: Caller },
    options: CallOptions,
  ): Promise<RunRecord> {
    const checkRoom = (conversation: string): void =>
      this.#queue.checkRoom({ tenant: from.caller.tenant, conversation });
    return admitMessage(this.#deps.admit, { id, checkRoom, ...from }, options);
  }

  /**
   * One at a time in a conversation: the limit is exact, and the ledger has the order of the queue.
   * @param meantFor a run that the message is for and for no other
   */
  async #accept(run: RunRecord, options: CallOptions, meantFor?: RunRecord): Promise<Admission> {
    using _turn = await this.#acceptLock.acquire(JSON.stringify([run.tenant, run.conversation]), options);
    const steered = await this.#absorb(run, meantFor);
    if (steered !== null) return { run: steered, queued: false };
    this.#queue.checkRoom(run);
    await this.#deps.runs.create(run);
    const queued = this.#queue.isBusy(run);
    this.#queue.enqueue(run);
    return { run: toRunObject(run, []), queued };
  }

  /** Before anything else of a run: one that is going on may answer for the message (runs §8.1). */
  async #absorb(message: RunRecord, meantFor: RunRecord | undefined): Promise<SteeredMessage | null> {
    const goingOn = this.#queue.goingOn(message);
    if (goingOn === null || message.retryOf !== null) return null;
    // Said before the message is stored: the run may end at any moment after it.
    if (this.#deps.active.canSteer(goingOn.id)) this.#queue.absorbs(goingOn.id);
    const absorbed = await this.#steering.absorb(message, goingOn);
    if (absorbed.kind === "ended" && meantFor !== undefined) throw hasEnded("completed");
    return absorbed.kind === "steered" ? absorbed.message : null;
  }

  /** The caller of a known key gets the run that stands behind it, or what became of the message. */
  async #attach(caller: Caller, id: RunId): Promise<Admission> {
    const run = await this.get(caller, id);
    if (run.status === "steered") return { run, queued: false };
    return { run, queued: this.#queue.isWaiting(await this.#find(caller, id)) };
  }

  async #find(caller: Caller, id: RunId): Promise<RunRecord> {
    const run = await this.#deps.runs.get(caller.tenant, id);
    const steered = await this.#steeredOf(caller, id, run);
    if (run !== null && steered === null) return run;
    throw new ServiceError("run.not_found", `There is no run "${id.slice(0, 100)}".`, {
      hint: steered === null ? undefined : `The run ${steered.absorbed_by} answers for this message.`,
    });
  }

  /** @param run of that id, as the ledger has it */
  async #steeredOf(caller: Caller, id: RunId, run: RunRecord | null): Promise<SteeredMessage | null> {
    const isRun = run !== null && run.state !== "created";
    return isRun ? null : this.#steering.find(caller.tenant, id);
  }

  async #toObject(run: RunRecord): Promise<Run> {
    return toRunObject(run, await this.#deps.files.listByRun(run.tenant, run.id));
  }
}

function hasEnded(status: PublicStatus): ServiceError {
  return new ServiceError("run.ended", `The run has ended already: it is ${status}.`, {
    details: { status },
  });
}
