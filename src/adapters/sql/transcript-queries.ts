/** Items of the transcript as rows, in any transaction. */
import { type Kysely, type Selectable, type SqlBool, sql } from "kysely";
import { ServiceError } from "../../domain/errors.js";
import type { TranscriptItem } from "../../domain/history.js";
import { runIdSchema } from "../../domain/ids.js";
import { messageSchema } from "../../domain/message.js";
import type { NewTranscriptItem, TranscriptPlace } from "../../ports/transcript-store.js";
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

/** Items that go at once. */
const MAX_REMOVED = 1_000;

/** Call it in a transaction, so that nothing is said between the look and the removal. */
export async function removeSilent(
  db: Kysely<Schema>,
  of: { readonly silentSince: number; readonly after: TranscriptPlace | null; readonly limit: number },
): Promise<TranscriptPlace | null> {
  const { after, limit, silentSince } = of;
  let query = db
    .selectFrom("transcript_item")
    .select(["tenant", "conversation"])
    .select((item) => item.fn.max("created_at").as("newest"));
  if (after !== null)
    query = query.where(sql<SqlBool>`(tenant, conversation) > (${after.tenant}, ${after.conversation})`);
  const places = await query
    .groupBy(["tenant", "conversation"])
    .orderBy("tenant")
    .orderBy("conversation")
    .limit(limit)
    .execute();
  let last = after;
  let left = MAX_REMOVED;
  for (const { newest, ...place } of places) {
    if (newest < silentSince) left -= await removeItems(db, place, left);
    // What is left of this conversation is met again.
    if (left <= 0) return last ?? FIRST;
    last = place;
  }
  return places.length < limit ? null : last;
}

/** Before every conversation that there is. */
const FIRST: TranscriptPlace = { tenant: "", conversation: "" };

async function removeItems(db: Kysely<Schema>, place: TranscriptPlace, limit: number): Promise<number> {
  const { tenant, conversation } = place;
  const { numDeletedRows } = await db
    .deleteFrom("transcript_item")
    .where("tenant", "=", tenant)
    .where("conversation", "=", conversation)
    .where("sequence", "in", (items) =>
      items
        .selectFrom("transcript_item")
        .select("sequence")
        .where("tenant", "=", tenant)
        .where("conversation", "=", conversation)
        .orderBy("sequence")
        .limit(limit),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}
