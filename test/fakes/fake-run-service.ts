/** Runs without brains: a test says what becomes of each, and the surface is seen to show it. */
import { ServiceError } from "../../src/domain/errors.js";
import type { RunId } from "../../src/domain/ids.js";
import {
  type PublicStatus,
  type Run,
  type RunEvent,
  type RunEventType,
  TERMINAL_EVENTS,
} from "../../src/domain/run.js";
import type { SteeredMessage } from "../../src/domain/steering.js";
import { NO_USAGE } from "../../src/domain/usage.js";
import type { CallOptions } from "../../src/ports/options.js";
import type { Caller, RunRequest } from "../../src/runs/run-request.js";
import type {
  Admission,
  CancelledRun,
  CancelOptions,
  DeliveryIds,
  RunPage,
  RunQuery,
  RunService,
} from "../../src/runs/run-service.js";

const STEERED: SteeredMessage = {
  id: "run_message",
  object: "run",
  status: "steered",
  absorbed_by: "run_1",
  place: "waiting",
  text: "And this.",
  created_at: "2026-01-01T00:00:00.000Z",
};

interface Entry {
  run: Run;
  readonly tenant: string;
  readonly request: RunRequest;
  readonly events: RunEvent[];
}

export class FakeRunService implements RunService {
  /** What becomes of a run as soon as it is admitted; `later` leaves it to the test. */
  outcome: "completed" | "failed" | "later" = "completed";
  /** Says of the next admission that its conversation is busy. */
  isBusy = false;
  refusal: ServiceError | null = null;
  isStopping = false;
  readonly requests: RunRequest[] = [];
  readonly gone: RunId[] = [];
  readonly #entries = new Map<RunId, Entry>();
  readonly #byKey = new Map<string, { readonly hash: string; readonly id: RunId }>();
  #wake: (() => void)[] = [];

  async admit(request: RunRequest, caller: Caller, _options: CallOptions): Promise<Admission> {
    if (this.refusal !== null) throw this.refusal;
    this.requests.push(request);
    const { idempotency } = request;
    const known = idempotency === null ? undefined : this.#byKey.get(`${caller.tenant} ${idempotency.key}`);
    if (known !== undefined && idempotency !== null) {
      if (known.hash !== idempotency.bodyHash)
        throw new ServiceError("idempotency.mismatch", "This Idempotency-Key was used with another body.");
      return { run: this.#find(caller, known.id).run, queued: false };
    }
    const entry = this.#open(request, caller);
    if (idempotency !== null)
      this.#byKey.set(`${caller.tenant} ${idempotency.key}`, {
        hash: idempotency.bodyHash,
        id: entry.run.id,
      });
    if (!this.isBusy && this.outcome !== "later") this.end(entry.run.id, this.outcome);
    return { run: entry.run, queued: this.isBusy };
  }

  /** Adds an event to a run that is going on. */
  emit(id: RunId, type: RunEventType, data: Readonly<Record<string, unknown>>): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new Error(`No run ${id}.`);
    const sequence = entry.events.length + 1;
    entry.events.push({ type, data, run_id: id, sequence, timestamp: "2026-01-01T00:00:00.000Z" });
    const waiting = this.#wake;
    this.#wake = [];
    for (const go of waiting) go();
  }

  end(id: RunId, status: "completed" | "failed" | "cancelled"): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new Error(`No run ${id}.`);
    this.emit(id, "run.started", {});
    this.emit(id, "message.delta", { chunk: { role: "assistant", content: "Hello" } });
    entry.run = { ...entry.run, status, message: { role: "assistant", content: "Hello" } };
    this.emit(id, `run.${status}`, { ...entry.run });
  }

  async get(caller: Caller, id: RunId): Promise<Run> {
    return this.#find(caller, id).run;
  }

  async list(caller: Caller, query: RunQuery): Promise<RunPage> {
    const runs = [...this.#entries.values()]
      .filter((entry) => entry.tenant === caller.tenant && matches(entry.run, query))
      .map(({ run }) => run)
      .toReversed();
    const start = query.after === undefined ? 0 : runs.findIndex(({ id }) => id === query.after) + 1;
    const rest = runs.slice(start);
    return { runs: rest.slice(0, query.limit), hasMore: rest.length > query.limit };
  }

  async wait(caller: Caller, id: RunId, options: CallOptions): Promise<Run> {
    for await (const _event of await this.follow(caller, { id, after: 0 }, options));
    return this.get(caller, id);
  }

  async follow(
    ...[caller, { id, after }, { signal }]: Parameters<RunService["follow"]>
  ): Promise<AsyncIterable<RunEvent>> {
    return this.#tell(this.#find(caller, id).events, after, signal);
  }

  async *#tell(events: readonly RunEvent[], after: number, signal: AbortSignal): AsyncIterable<RunEvent> {
    let next = after;
    for (;;) {
      signal.throwIfAborted();
      const event = events[next];
      if (event === undefined) {
        const last = events.at(-1);
        if (last !== undefined && TERMINAL_EVENTS.includes(last.type)) return;
        await this.#nextEvent(signal);
        continue;
      }
      next += 1;
      yield event;
    }
  }

  async cancel(caller: Caller, id: RunId, { queue }: CancelOptions): Promise<CancelledRun> {
    const { run } = this.#find(caller, id);
    if (run.status !== "queued" && run.status !== "running")
      throw new ServiceError("run.ended", `The run has ended already: it is ${run.status}.`);
    this.end(id, "cancelled");
    const place = queue === "clear" ? ("not_answered" as const) : ("queue" as const);
    return { ...(await this.get(caller, id)), messages: [{ id: "run_behind", place }] };
  }

  async steer(
    caller: Caller,
    { id, text }: { readonly id: RunId; readonly text: string },
  ): Promise<SteeredMessage> {
    const { run } = this.#find(caller, id);
    if (run.status !== "queued" && run.status !== "running")
      throw new ServiceError("run.ended", `The run has ended already: it is ${run.status}.`);
    return { ...STEERED, absorbed_by: id, text };
  }

  async listSteering(caller: Caller, id: RunId): Promise<readonly SteeredMessage[]> {
    this.#find(caller, id);
    return [{ ...STEERED, absorbed_by: id }];
  }

  async retry(caller: Caller, id: RunId, options: CallOptions): Promise<Admission> {
    const { run, request } = this.#find(caller, id);
    if (run.status !== "failed")
      throw new ServiceError("run.not_retryable", "Only failed runs can be repeated.");
    return this.admit(request, caller, options);
  }

  async acknowledge(caller: Caller, ids: DeliveryIds): Promise<Run> {
    const { run } = this.#find(caller, ids.run);
    if (run.deliveries.some((delivery) => delivery.id === ids.file)) return run;
    throw new ServiceError("delivery.not_found", "This run has no such delivery.");
  }

  clientGone(id: RunId): void {
    this.gone.push(id);
  }

  #open(request: RunRequest, caller: Caller): Entry {
    const id: RunId = `run_${this.#entries.size + 1}`;
    const entry: Entry = { run: queuedRun(id, request), tenant: caller.tenant, request, events: [] };
    this.#entries.set(id, entry);
    return entry;
  }

  #find(caller: Caller, id: RunId): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.tenant !== caller.tenant)
      throw new ServiceError("run.not_found", `There is no run "${id}".`);
    return entry;
  }

  async #nextEvent(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error("Aborted."));
      signal.addEventListener("abort", stop, { once: true });
      this.#wake.push(() => {
        signal.removeEventListener("abort", stop);
        resolve();
      });
    });
  }
}

function matches(run: Run, { status, chat, session }: RunQuery): boolean {
  const statusFits = status === undefined || (run.status satisfies PublicStatus) === status;
  const chatFits = chat === undefined || `${run.chat?.launcher_type}:${run.chat?.launcher_id}` === chat;
  return statusFits && chatFits && (session === undefined || run.session?.id === session);
}

function queuedRun(id: RunId, request: RunRequest): Run {
  return {
    id,
    object: "run",
    status: "queued",
    pipeline: request.pipeline ?? "default",
    runner: "plugin:berth/local-agent/default",
    session: null,
    chat: request.chat,
    created_at: "2026-01-01T00:00:00.000Z",
    started_at: null,
    ended_at: null,
    message: null,
    deliveries: [],
    attachments: [],
    outbox_left: [],
    model: null,
    tool_rounds: 0,
    usage: NO_USAGE,
    finish_reason: null,
    warnings: [],
    error: null,
  };
}
