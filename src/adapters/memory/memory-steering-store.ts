/** Messages that runs absorb, in memory: a double for tests that keeps the promises of the port. */
import type { RunId } from "../../domain/ids.js";
import { isTerminal } from "../../domain/run.js";
import type { AuditType, SteeringPlace } from "../../domain/steering.js";
import type { SteeringEnd } from "../../ports/run-store.js";
import type {
  AuditRecord,
  OfferedMessage,
  PulledMessages,
  PullRequest,
  SteeringItem,
  SteeringStore,
} from "../../ports/steering-store.js";
import type { NewTranscriptItem, TranscriptStore } from "../../ports/transcript-store.js";
import type { MemoryRunStore } from "./memory-run-store.js";

const PLACE_AT_END = { requeue: "queue", drop: "dropped", clear: "not_answered" } as const;

export interface MemorySteeringDeps {
  readonly runs: MemoryRunStore;
  readonly transcripts: TranscriptStore;
}

export class MemorySteeringStore implements SteeringStore {
  readonly #deps: MemorySteeringDeps;
  /** In order of arrival. */
  readonly #items = new Map<RunId, SteeringItem>();
  readonly #audit: AuditRecord[] = [];

  constructor(deps: MemorySteeringDeps) {
    this.#deps = deps;
    deps.runs.settleAtEnd((runId, end, now) => this.#settle(runId, end, now));
  }

  async offer({ message, text, runId, limit }: OfferedMessage): Promise<"waiting" | "full" | "ended"> {
    const run = this.#deps.runs.find(runId);
    if (run === null || isTerminal(run.state)) return "ended";
    if (this.#waiting(runId).length >= limit) return "full";
    const { id, tenant, createdAt } = message;
    await this.#deps.runs.create({ ...message, state: "created" });
    this.#items.set(id, { id, tenant, runId, place: "waiting", text, createdAt, changedAt: createdAt });
    this.#record(id, { type: "steering.queued", now: createdAt });
    return "waiting";
  }

  async get(tenant: string, id: RunId): Promise<SteeringItem | null> {
    const item = this.#items.get(id);
    return item?.tenant === tenant ? item : null;
  }

  async listByRun(tenant: string, runId: RunId): Promise<readonly SteeringItem[]> {
    return [...this.#items.values()].filter((item) => item.tenant === tenant && item.runId === runId);
  }

  async pull(runId: RunId, request: PullRequest): Promise<PulledMessages | null> {
    const waiting = this.#waiting(runId).slice(0, request.limit);
    if (waiting.length === 0) return { messages: [], sequence: 0 };
    const run = this.#deps.runs.find(runId);
    if (run === null || isTerminal(run.state) || run.epoch !== request.epoch) return null;
    const { before, now } = request;
    if (before !== null) await this.#deps.transcripts.append(before);
    let sequence = 0;
    for (const item of waiting) {
      await this.#write(item, now);
      this.#deps.runs.forget(item.id);
      this.#move(item.id, { place: "history", now });
      this.#record(item.id, { type: "steering.injected", now });
      const data = { message_id: item.id, text: item.text };
      const timestamp = new Date(now).toISOString();
      const event = { type: "steering.injected" as const, data, timestamp };
      sequence = (await this.#deps.runs.appendEvent(runId, event))?.sequence ?? 0;
    }
    return { messages: waiting.flatMap(({ id }) => this.#items.get(id) ?? []), sequence };
  }

  async markNotAnswered(ids: readonly RunId[], now: number): Promise<void> {
    for (const id of ids)
      if (this.#items.get(id)?.place === "queue") this.#move(id, { place: "not_answered", now });
  }

  async listAudit(tenant: string, runId: RunId): Promise<readonly AuditRecord[]> {
    return this.#audit.filter(
      (record) => record.runId === runId && this.#items.get(record.subject)?.tenant === tenant,
    );
  }

  async #settle(runId: RunId, end: SteeringEnd, now: number): Promise<void> {
    for (const item of this.#waiting(runId)) {
      if (end === "requeue") await this.#deps.runs.update(item.id, { state: "queued" });
      else this.#deps.runs.forget(item.id);
      if (end === "clear") await this.#write(item, now);
      this.#move(item.id, { place: PLACE_AT_END[end], now });
      if (end === "requeue") this.#record(item.id, { type: "steering.requeued", now });
      if (end === "drop") this.#record(item.id, { type: "steering.dropped", now });
    }
  }

  async #write({ runId, text }: SteeringItem, createdAt: number): Promise<void> {
    const run = this.#deps.runs.find(runId);
    if (run === null) return;
    const item: NewTranscriptItem = {
      tenant: run.tenant,
      conversation: run.conversation,
      runId,
      eventId: null,
      message: { role: "user", content: text },
      partial: false,
      createdAt,
    };
    await this.#deps.transcripts.append(item);
  }

  #waiting(runId: RunId): SteeringItem[] {
    return [...this.#items.values()].filter((item) => item.runId === runId && item.place === "waiting");
  }

  #move(id: RunId, { place, now }: { readonly place: SteeringPlace; readonly now: number }): void {
    const item = this.#items.get(id);
    if (item !== undefined) this.#items.set(id, { ...item, place, changedAt: now });
  }

  #record(id: RunId, { type, now }: { readonly type: AuditType; readonly now: number }): void {
    const item = this.#items.get(id);
    if (item !== undefined) this.#audit.push({ type, runId: item.runId, subject: id, createdAt: now });
  }
}
