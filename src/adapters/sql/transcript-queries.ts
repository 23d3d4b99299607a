/** Items of the transcript as rows, in any transaction. */
import type { Kysely, Selectable } from "kysely";
import { ServiceError } from "../../domain/errors.js";
import type { TranscriptItem } from "../../domain/history.js";
import { runIdSchema } from "../../domain/ids.js";
import { messageSchema } from "../../domain/message.js";
import type { NewTranscriptItem } from "../../ports/transcript-store.js";
import { readJson, writeJson } from "./json-column.js";
import type { Schema, TranscriptItemTable } from "./schema.js";
import { nextPosition } from "./sql-database.js";

/** Call it inside a transaction. @throws ServiceError `run.interrupted` when the run is another worker's */
export async function insertTranscriptItem(
  db: Kysely<Schema>,
  item: NewTranscriptItem,
): Promise<TranscriptItem> {
  if (item.epoch !== undefined) await checkEpoch(db, item.runId, item.epoch);
  const row = {
    tenant: item.tenant,
    conversation: item.conversation,
    sequence: await nextPosition(db, "transcript_item"),
    run_id: item.runId,
    event_id: item.eventId,
    message_json: writeJson(item.message),
    partial: item.partial ? (1 as const) : (0 as const),
    created_at: item.createdAt,
  };
  await db.insertInto("transcript_item").values(row).execute();
  return toTranscriptItem(row);
}

async function checkEpoch(db: Kysely<Schema>, runId: string, epoch: number): Promise<void> {
  const id = runIdSchema.parse(runId);
  const run = await db.selectFrom("run").select("epoch").where("id", "=", id).executeTakeFirst();
  if (run !== undefined && run.epoch !== epoch)
    throw new ServiceError("run.interrupted", "Another worker has taken this run over.");
}

export function toTranscriptItem(row: Selectable<TranscriptItemTable>): TranscriptItem {
  return {
    sequence: row.sequence,
    run_id: row.run_id,
    event_id: row.event_id,
    message: readJson(messageSchema, row.message_json),
    partial: row.partial === 1,
    created_at: row.created_at,
  };
}
