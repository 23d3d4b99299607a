/** The ledger in memory: a double for tests that keeps the promises of the port. */
import type { RunId, SessionId } from "../../domain/ids.js";
import { isTerminal, type RunError, type RunEvent, toOpenState } from "../../domain/run.js";
import type {
  Claimant,
  FinishOptions,
  NewRunEvent,
  RunChange,
  RunChat,
  RunFilter,
  RunOutcome,
  RunRecord,
  RunStore,
  SteeringEnd,
} from "../../ports/run-store.js";

interface StoredRun {
  record: RunRecord;
  readonly events: RunEvent[];
}

export class MemoryRunStore implements RunStore {
  /** In order of creation. */
  readonly #runs = new Map<RunId, StoredRun>();
  #note: (run: RunRecord, event: RunEvent) => void = () => undefined;
  #settle: (id: RunId, end: SteeringEnd, now: number) => Promise<void> = async () => undefined;

  async create(run: RunRecord): Promise<void> {
    if (this.#runs.has(run.id)) throw new Error(`There is a run ${run.id} already.`);
    this.#runs.set(run.id, { record: structuredClone(run), events: [] });
  }

  async get(tenant: string, id: RunId): Promise<RunRecord | null> {
    const record = this.#runs.get(id)?.record;
    return record?.tenant === tenant ? record : null;
  }

  async list(tenant: string, filter: RunFilter): Promise<readonly RunRecord[]> {
    const newestFirst = this.#records()
      .filter((record) => record.tenant === tenant)
      .toReversed();
    const start =
      filter.after === undefined ? 0 : newestFirst.findIndex(({ id }) => id === filter.after) + 1 || Infinity;
    return newestFirst
      .slice(start)
      .filter((record) => passes(record, filter))
      .slice(0, filter.limit);
  }

  async listChats(tenant: string, session: SessionId, limit: number): Promise<readonly RunChat[]> {
    const runs = await this.list(tenant, { session, limit: this.#runs.size });
    return runs
      .map((run) => ({ chat: chatKey(run), createdAt: run.createdAt }))
      .filter(({ chat }) => chat !== "")
      .slice(0, limit);
  }

  async update(id: RunId, change: RunChange, epoch?: number): Promise<boolean> {
    if (change.state !== undefined) toOpenState(change.state);
    const run = this.#open(id, epoch);
    if (run === null) return false;
    run.record = { ...run.record, ...structuredClone(change) };
    return true;
  }

  async appendEvent(id: RunId, event: NewRunEvent, epoch?: number): Promise<RunEvent | null> {
    const run = this.#open(id, epoch);
    return run === null ? null : this.#append(run, event);
  }

  async lastSequence(id: RunId): Promise<number> {
    return this.#runs.get(id)?.events.length ?? 0;
  }

  async eventsAfter(id: RunId, sequence: number, limit: number): Promise<readonly RunEvent[]> {
    return (this.#runs.get(id)?.events ?? []).filter((event) => event.sequence > sequence).slice(0, limit);
  }

  async finish(
    id: RunId,
    outcome: RunOutcome,
    event: (record: RunRecord) => NewRunEvent,
    { epoch, steered = "requeue" }: FinishOptions = {},
  ): Promise<RunEvent | null> {
    const run = this.#open(id, epoch);
    if (run === null) return null;
    const record = { ...run.record, ...structuredClone(outcome), claim: null };
    const last = this.#append(run, event(record));
    run.record = record;
    await this.#settle(id, steered, outcome.endedAt);
    return last;
  }

  async listOpen(): Promise<readonly RunRecord[]> {
    return this.#records().filter(({ state }) => !isTerminal(state));
  }

  async mergeMetadata(id: RunId, metadata: Readonly<Record<string, unknown>>): Promise<boolean> {
    const run = this.#runs.get(id);
    if (run === undefined) return false;
    run.record = { ...run.record, metadata: { ...run.record.metadata, ...structuredClone(metadata) } };
    return true;
  }

  async claim(id: RunId, { worker, now, expiresAt }: Claimant): Promise<RunRecord | null> {
    const run = this.#runs.get(id);
    if (run === undefined || !this.#isFree(run.record, { worker, now })) return null;
    const epoch = run.record.epoch + 1;
    run.record = { ...run.record, state: "claimed", epoch, claim: { worker, expiresAt } };
    return run.record;
  }

  async renew({ worker, now, expiresAt }: Claimant): Promise<readonly RunId[]> {
    const own = [...this.#runs.values()].filter(
      ({ record }) => isHeld(record) && record.claim?.worker === worker && record.claim.expiresAt > now,
    );
    for (const run of own) run.record = { ...run.record, claim: { worker, expiresAt } };
    return own.map(({ record }) => record.id);
  }

  async release(id: RunId, epoch: number, now: number): Promise<boolean> {
    const run = this.#runs.get(id);
    if (run?.record.state !== "claimed" || run.record.epoch !== epoch) return false;
    if ((run.record.claim?.expiresAt ?? 0) <= now) return false;
    run.record = { ...run.record, state: "queued", claim: null };
    return true;
  }

  async listAdrift(now: number, queuedBefore: number): Promise<readonly RunRecord[]> {
    return this.#records().filter((record) =>
      record.state === "queued" ? record.createdAt < queuedBefore : isAdrift(record, now),
    );
  }

  async failDelivered(id: RunId, error: RunError): Promise<void> {
    const run = this.#runs.get(id);
    if (run?.record.state !== "completed") return;
    run.record = { ...run.record, state: "failed", error: structuredClone(error) };
  }

  async releaseAttachments(createdBefore: number, reason: string, limit: number): Promise<readonly string[]> {
    const released: string[] = [];
    for (const run of this.#runs.values()) {
      if (run.record.createdAt >= createdBefore || !isTerminal(run.record.state)) continue;
      const attachmentSources = run.record.attachmentSources.map((source) => {
        if (source.kind !== "blob" || released.length >= limit) return source;
        released.push(source.sha256);
        return { kind: "refused" as const, reason, sizeBytes: source.sizeBytes };
      });
      run.record = { ...run.record, attachmentSources };
    }
    return released;
  }

  async removeEnded(createdBefore: number, limit: number): Promise<number> {
    const old = this.#records().filter(
      ({ state, createdAt }) => isTerminal(state) && createdAt < createdBefore,
    );
    for (const { id } of old.slice(0, limit)) this.#runs.delete(id);
    return Math.min(old.length, limit);
  }

  /** Whoever tells others of events hears of each. */
  tellOfEvents(note: (run: RunRecord, event: RunEvent) => void): void {
    this.#note = note;
  }

  /** Whoever keeps messages for runs is told of each end. */
  settleAtEnd(settle: (id: RunId, end: SteeringEnd, now: number) => Promise<void>): void {
    this.#settle = settle;
  }

  find(id: RunId): RunRecord | null {
    return this.#runs.get(id)?.record ?? null;
  }

  /** For a message that is no run of its own any more. */
  forget(id: RunId): void {
    this.#runs.delete(id);
  }

  /** Whether an attachment of a stored run needs these bytes; asked by the file store. */
  refersTo(sha256: string): boolean {
    return this.#records().some(({ attachmentSources }) =>
      attachmentSources.some((source) => source.kind === "blob" && source.sha256 === sha256),
    );
  }

  #append(run: StoredRun, event: NewRunEvent): RunEvent {
    const stored = append(run, event);
    this.#note(run.record, stored);
    return stored;
  }

  #records(): RunRecord[] {
    return Array.from(this.#runs.values(), ({ record }) => record);
  }

  #isFree(record: RunRecord, { worker, now }: Pick<Claimant, "worker" | "now">): boolean {
    if (record.state !== "queued") return isAdrift(record, now);
    const { tenant, conversation } = record;
    return !this.#records().some(
      (other) =>
        other.tenant === tenant &&
        other.conversation === conversation &&
        isHeld(other) &&
        (other.claim?.worker ?? worker) !== worker,
    );
  }

  #open(id: RunId, epoch?: number): StoredRun | null {
    const run = this.#runs.get(id);
    if (run === undefined || isTerminal(run.record.state)) return null;
    return epoch === undefined || run.record.epoch === epoch ? run : null;
  }
}

function isHeld({ state }: RunRecord): boolean {
  return state === "claimed" || state === "running";
}

function isAdrift(record: RunRecord, now: number): boolean {
  return isHeld(record) && (record.claim?.expiresAt ?? 0) <= now;
}

function append(run: StoredRun, event: NewRunEvent): RunEvent {
  const sequence = run.events.length + 1;
  const stored: RunEvent = { ...structuredClone(event), run_id: run.record.id, sequence };
  run.events.push(stored);
  return stored;
}

function passes(record: RunRecord, filter: RunFilter): boolean {
  if (filter.session !== undefined && record.session?.id !== filter.session) return false;
  if (filter.chat !== undefined && chatKey(record) !== filter.chat) return false;
  if (filter.conversation !== undefined && record.conversation !== filter.conversation) return false;
  if (filter.runner !== undefined && record.runner !== filter.runner) return false;
  return filter.states === undefined || filter.states.includes(record.state);
}

function chatKey({ chat }: RunRecord): string {
  return chat === null ? "" : `${chat.launcher_type}:${chat.launcher_id}`;
}
