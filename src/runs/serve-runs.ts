/** Runs as surfaces see them: admission, queue, look-up, cancel, retry, acknowledgement (api §2). */
import { ServiceError } from "../domain/errors.js";
import type { FileId, RunId } from "../domain/ids.js";
import {
  isTerminal,
  type PublicStatus,
  publicStatus,
  RUN_STATES,
  type Run,
  type RunEvent,
} from "../domain/run.js";
import { KeyedLock } from "../lib/keyed-lock.js";
import type { FileStore } from "../ports/file-store.js";
import type { IdempotencyStore } from "../ports/idempotency-store.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";
import type { RunEvents } from "../ports/run-events.js";
import type { RunRecord, RunStore } from "../ports/run-store.js";
import type { TranscriptStore } from "../ports/transcript-store.js";
import type { ActiveRuns } from "./active-runs.js";
import { type AdmitDeps, admitMessage, repeatRun } from "./admit-message.js";
import { ConversationQueue } from "./conversation-queue.js";
import { undeliveredError } from "./end-run.js";
import { followRun } from "./follow-run.js";
import { judgeKey } from "./idempotency.js";
import type { Orchestrator } from "./orchestrator.js";
import { endInterrupted, type RecoverDeps, recoverRuns } from "./recover-runs.js";
import { toRunObject } from "./run-object.js";
import type { Caller, RunRequest } from "./run-request.js";
import type { Admission, RunPage, RunQuery, RunService } from "./run-service.js";

export interface ServeRunsDeps {
  readonly admit: AdmitDeps;
  readonly runs: RunStore;
  readonly transcripts: TranscriptStore;
  readonly files: FileStore;
  readonly events: RunEvents;
  readonly keys: IdempotencyStore;
  readonly active: ActiveRuns;
  readonly orchestrator: Orchestrator;
  readonly logger: Logger;
}

export class ServeRuns implements RunService {
  readonly #deps: ServeRunsDeps;
  readonly #queue: ConversationQueue;
  readonly #keyLock = new KeyedLock<string>();
  readonly #acceptLock = new KeyedLock<string>();
  readonly #executions = new Set<Promise<void>>();
  /** Runs that wait or execute here. */
  readonly #open = new Map<RunId, RunRecord>();
  /** Runs that are over, and whose end the store did not take. */
  readonly #lostRuns = new Map<RunId, RunRecord>();
  #isStopping = false;

  constructor(deps: ServeRunsDeps) {
    this.#deps = deps;
    this.#queue = new ConversationQueue((runId) => this.#begin(runId));
  }

  /** Closes what a dead process left and continues its queue (runs §20.4). */
  async start(): Promise<void> {
    const queued = await recoverRuns(this.#recovery);
    for (const run of queued) this.#enqueue(run);
  }

  async admit(request: RunRequest, caller: Caller, options: CallOptions): Promise<Admission> {
    this.#refuseWhileStopping();
    const id = this.#deps.admit.ids.create("run");
    const { idempotency } = request;
    if (idempotency === null)
      return this.#accept(await this.#make(id, { request, caller }, options), options);
    using _held = await this.#keyLock.acquire(JSON.stringify([caller.tenant, idempotency.key]), options);
    const verdict = await judgeKey(
      { keys: this.#deps.keys, findRun: (known) => this.#deps.runs.get(caller.tenant, known) },
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
    return this.#isStopping;
  }

  async get(caller: Caller, id: RunId): Promise<Run> {
    return this.#toObject(await this.#find(caller, id));
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
    for (;;) {
      options.signal.throwIfAborted();
      // The number is read first: an event that comes after it ends the wait below.
      const last = await this.#deps.runs.lastSequence(id);
      const run = await this.#find(caller, id);
      if (isTerminal(run.state)) return this.#toObject(run);
      await this.#deps.events.waitBeyond(id, last, options);
    }
  }

  async *follow(
    caller: Caller,
    id: RunId,
    after: number,
    options: CallOptions,
  ): AsyncGenerator<RunEvent, void> {
    await this.#find(caller, id);
    yield* followRun(this.#deps, { tenant: caller.tenant, id, after }, options);
  }

  async cancel(caller: Caller, id: RunId, options: CallOptions): Promise<Run> {
    const run = await this.#find(caller, id);
    if (isTerminal(run.state)) throw hasEnded(run.state);
    await this.#stop(run, cancelled());
    const stopped = await this.wait(caller, id, options);
    // It may have come to its end by itself at the same moment.
    if (stopped.status !== "cancelled") throw hasEnded(stopped.status);
    return stopped;
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

  async acknowledge(
    caller: Caller,
    id: RunId,
    fileId: FileId,
    report: { readonly state: "sent" | "failed"; readonly detail: string | null },
  ): Promise<Run> {
    const run = await this.#find(caller, id);
    const file = await this.#deps.files.get(caller.tenant, fileId);
    if (file === null || file.runId !== run.id)
      throw new ServiceError("delivery.not_found", "This run has no such delivery.", { param: "file_id" });
    await this.#deps.files.setState(fileId, report.state === "sent" ? "acked" : "failed");
    if (report.state === "failed")
      await this.#deps.runs.failDelivered(id, undeliveredError(file, report.detail));
    return this.get(caller, id);
  }

  clientGone(id: RunId): void {
    const run = this.#open.get(id);
    if (run?.onDisconnect === "cancel")
      void this.#stop(run, cancelled()).catch((error: unknown) => this.#lost(run, error));
  }

  /** Refuses new runs, gives the running ones `graceMs`, then interrupts them (api §7). */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    const limit = AbortSignal.timeout(graceMs);
    const interrupt = (): void =>
      this.#deps.active.stopAll(
        new ServiceError("run.interrupted", "The service was stopped while this run was going on.", {
          hint: "Repeat it with POST /v1/runs/{id}/retry; files that were exported are kept.",
        }),
      );
    limit.addEventListener("abort", interrupt, { once: true });
    await Promise.all(this.#executions);
    limit.removeEventListener("abort", interrupt);
  }

  #refuseWhileStopping(): void {
    if (this.#isStopping)
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
      this.#queue.checkRoom(queueKey({ tenant: from.caller.tenant, conversation }));
    return admitMessage(this.#deps.admit, { id, checkRoom, ...from }, options);
  }

  /** One at a time in a conversation: the limit is exact, and the ledger has the order of the queue. */
  async #accept(run: RunRecord, options: CallOptions): Promise<Admission> {
    const key = queueKey(run);
    using _turn = await this.#acceptLock.acquire(key, options);
    this.#queue.checkRoom(key);
    await this.#deps.runs.create(run);
    const queued = this.#queue.isBusy(key);
    this.#enqueue(run);
    return { run: toRunObject(run, []), queued };
  }

  /** The caller of a known key gets the run that stands behind it. */
  async #attach(caller: Caller, id: RunId): Promise<Admission> {
    const run = await this.#find(caller, id);
    return { run: await this.#toObject(run), queued: this.#queue.isWaiting(queueKey(run), id) };
  }

  #enqueue(run: RunRecord): void {
    this.#open.set(run.id, run);
    this.#queue.enter(queueKey(run), run.id);
  }

  #begin(runId: RunId): void {
    const run = this.#open.get(runId);
    if (run === undefined || this.#isStopping) return;
    const execution = this.#deps.orchestrator
      .execute(run)
      .catch((error: unknown) => this.#lost(run, error))
      .finally(() => {
        this.#executions.delete(execution);
        this.#open.delete(runId);
        this.#queue.leave(queueKey(run), runId);
      });
    this.#executions.add(execution);
  }

  /** Ends the runs whose end could not be written when it came: none stays `running` without a worker (runs §20.4). */
  async endLost(): Promise<void> {
    for (const [runId, run] of this.#lostRuns) {
      const record = await this.#deps.runs.get(run.tenant, runId);
      if (record !== null && !isTerminal(record.state)) await endInterrupted(this.#recovery, record);
      this.#lostRuns.delete(runId);
    }
  }

  get #recovery(): RecoverDeps {
    const { clock } = this.#deps.admit;
    return { ...this.#deps, now: () => clock.now() };
  }

  /** The store itself failed: the ledger keeps the run open until `endLost` can write. */
  #lost(run: RunRecord, error: unknown): void {
    const runId = run.id;
    this.#lostRuns.set(runId, run);
    this.#deps.logger.error({ runId, code: "internal" }, "The end of a run could not be written.", error);
  }

  async #stop(run: RunRecord, reason: ServiceError): Promise<void> {
    if (this.#deps.active.stop(run.id, reason)) return;
    if (!this.#queue.withdraw(queueKey(run), run.id)) return;
    this.#open.delete(run.id);
    await this.#deps.orchestrator.endUnstarted(run, reason);
  }

  async #find(caller: Caller, id: RunId): Promise<RunRecord> {
    const run = await this.#deps.runs.get(caller.tenant, id);
    if (run !== null) return run;
    throw new ServiceError("run.not_found", `There is no run "${id.slice(0, 100)}".`);
  }

  async #toObject(run: RunRecord): Promise<Run> {
    return toRunObject(run, await this.#deps.files.listByRun(run.tenant, run.id));
  }
}

function queueKey({ tenant, conversation }: Pick<RunRecord, "tenant" | "conversation">): string {
  return JSON.stringify([tenant, conversation]);
}

function cancelled(): ServiceError {
  return new ServiceError("cancelled", "The run was cancelled.");
}

function hasEnded(status: PublicStatus): ServiceError {
  return new ServiceError("run.ended", `The run has ended already: it is ${status}.`, {
    details: { status },
  });
}
