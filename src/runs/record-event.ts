/** Writes what asked for a run: its event record, then, of a message, the user's transcript entry (runs §7.1). */
import type { SecretMask } from "../lib/secret-mask.js";
import type { EventStore } from "../ports/event-store.js";
import type { RunRecord } from "../ports/run-store.js";
import type { TranscriptStore } from "../ports/transcript-store.js";
import type { PlaceInHistory } from "./build-context.js";
import { eventRecordOf } from "./event-record.js";
import { userEntry } from "./user-entry.js";

export interface RecordEventDeps {
  readonly eventRecords: EventStore;
  readonly transcripts: TranscriptStore;
  readonly mask: SecretMask;
}

/** The event record alone, of a message that a package dealt with in silence. @param now Unix milliseconds */
export async function recordEventOnly(
  { eventRecords, mask }: Pick<RecordEventDeps, "eventRecords" | "mask">,
  run: RunRecord,
  now: number,
): Promise<void> {
  await eventRecords.append(mask.value(eventRecordOf(run, now)));
}

/** Other events are no messages of the user, so the transcript holds none of them (runs §11.7). @param now Unix milliseconds */
export async function recordEvent(
  deps: RecordEventDeps,
  run: RunRecord,
  now: number,
): Promise<PlaceInHistory> {
  const record = deps.mask.value(eventRecordOf(run, now));
  const { sequence: eventSeq } = await deps.eventRecords.append(record);
  const isMessage = run.trigger.event_type === "message.received";
  const transcriptSeq = isMessage ? await appendMessage(deps, run, now) : null;
  const newest = { direction: "backward" as const, from: null, limit: 2 };
  const items = await deps.transcripts.page(run.tenant, run.conversation, newest);
  return {
    eventSeq,
    transcriptSeq,
    latestSeq: items[0]?.sequence ?? null,
    hasHistory: items.some(({ run_id }) => run_id !== run.id),
  };
}

async function appendMessage(deps: RecordEventDeps, run: RunRecord, createdAt: number): Promise<number> {
  const { tenant, conversation, id: runId, eventId } = run;
  const message = userEntry(run);
  const item = { tenant, conversation, runId, eventId, message, partial: false, createdAt };
  return (await deps.transcripts.append(item)).sequence;
}
