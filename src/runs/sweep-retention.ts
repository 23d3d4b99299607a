/** Lets go of what is older than the retention, in batches (box §9.7, runs §9.4): attachments and files first, then records. */
import { isTerminal, RUN_STATES } from "../domain/run.js";
import { POOL_TENANT, type SessionRecord } from "../domain/session.js";
import type { EventStore } from "../ports/event-store.js";
import type { IdempotencyStore } from "../ports/idempotency-store.js";
import type { CallOptions } from "../ports/options.js";
import type { RunStore } from "../ports/run-store.js";
import type { SessionStore } from "../ports/session-store.js";
import type { TranscriptPlace, TranscriptStore } from "../ports/transcript-store.js";
import type { FileService } from "./file-service.js";
import { KEY_KEPT_MS } from "./idempotency.js";

const STEP = 100;
/** Runs at a time: each takes its events along. */
const RUN_STEP = 20;
const RELEASED = "Its bytes are no longer kept.";
const OPEN_STATES = RUN_STATES.filter((state) => !isTerminal(state));

export interface SweepDeps {
  readonly files: Pick<FileService, "removeExpired">;
  readonly runs: RunStore;
  readonly eventRecords: EventStore;
  readonly transcripts: TranscriptStore;
  readonly idempotency: IdempotencyStore;
  readonly sessions: SessionStore;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** @param createdBefore Unix milliseconds. */
export async function sweepRetention(
  deps: SweepDeps,
  createdBefore: number,
  options: CallOptions,
): Promise<void> {
  await repeat(STEP, options, async () => {
    return (await deps.runs.releaseAttachments(createdBefore, RELEASED, STEP)).length;
  });
  await deps.files.removeExpired(createdBefore, options);
  await repeat(STEP, options, () => deps.eventRecords.removeOlderThan(createdBefore, STEP));
  await repeat(RUN_STEP, options, () => deps.runs.removeEnded(createdBefore, RUN_STEP));
  await repeat(STEP, options, () => deps.idempotency.removeExpired(deps.now() - KEY_KEPT_MS, STEP));
  await sweepConversations(deps.transcripts, createdBefore, options);
  await sweepSessions(deps, createdBefore, options);
}

/** @param work removes up to `step` things and says how many */
async function repeat(step: number, { signal }: CallOptions, work: () => Promise<number>): Promise<void> {
  let removed = step;
  while (removed >= step) {
    signal.throwIfAborted();
    removed = await work();
  }
}

/** A conversation goes when nothing was said in it for so long; one that lives stays readable as a whole. */
async function sweepConversations(
  transcripts: TranscriptStore,
  silentSince: number,
  { signal }: CallOptions,
): Promise<void> {
  let after: TranscriptPlace | null = null;
  do {
    signal.throwIfAborted();
    after = await transcripts.removeSilent(silentSince, { after, limit: STEP });
  } while (after !== null);
}

/** Records of sessions whose workspace has gone, or never was. */
async function sweepSessions(
  { sessions, runs }: SweepDeps,
  lastUsedBefore: number,
  { signal }: CallOptions,
): Promise<void> {
  const unused = (await sessions.listAll()).filter((session) => isUnused(session, lastUsedBefore));
  for (const { tenant, id } of unused) {
    signal.throwIfAborted();
    const open = await runs.list(tenant, { session: id, states: OPEN_STATES, limit: 1 });
    if (open.length === 0) await sessions.remove(id);
  }
}

function isUnused({ tenant, container, prepared, lastUsedAt }: SessionRecord, before: number): boolean {
  return tenant !== POOL_TENANT && container === null && !prepared && lastUsedAt < before;
}
