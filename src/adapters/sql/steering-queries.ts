/** Steps of steering that work in any transaction (runs §14). */
import type { Kysely, Selectable } from "kysely";
import type { RunId } from "../../domain/ids.js";
import { type AuditType, type SteeringPlace, steeringPlaceSchema } from "../../domain/steering.js";
import type { RunRecord, SteeringEnd } from "../../ports/run-store.js";
import type { SteeringItem } from "../../ports/steering-store.js";
import type { NewTranscriptItem } from "../../ports/transcript-store.js";
import type { Schema, SteeringItemTable } from "./schema.js";
import { nextPosition } from "./sql-database.js";
import { insertTranscriptItem } from "./transcript-queries.js";

export async function listWaiting(
  db: Kysely<Schema>,
  runId: RunId,
  limit: number,
): Promise<readonly SteeringItem[]> {
  const rows = await db
    .selectFrom("steering_item")
    .selectAll()
    .where("run_id", "=", runId)
    .where("place", "=", "waiting")
    .orderBy("position")
    .limit(limit)
    .execute();
  return rows.map(toItem);
}

export async function moveItem(
  db: Kysely<Schema>,
  id: RunId,
  to: { readonly place: SteeringPlace; readonly now: number },
): Promise<void> {
  const { place, now } = to;
  await db.updateTable("steering_item").set({ place, changed_at: now }).where("id", "=", id).execute();
}

export async function audit(
  db: Kysely<Schema>,
  { tenant, runId, id }: Pick<SteeringItem, "tenant" | "runId" | "id">,
  what: { readonly type: AuditType; readonly now: number },
): Promise<void> {
  const position = await nextPosition(db, "audit");
  const { type, now } = what;
  await db
    .insertInto("audit")
    .values({ position, tenant, run_id: runId, type, subject: id, created_at: now })
    .execute();
}

/** The message is no run of its own any more. */
export async function removeMessageRun(db: Kysely<Schema>, id: RunId): Promise<void> {
  await db.deleteFrom("run").where("id", "=", id).where("state", "=", "created").execute();
}

/** Settles what still waits for a run that ends; call it in the transaction of the end. */
export async function settleWaiting(
  db: Kysely<Schema>,
  run: RunRecord,
  { end, now }: { readonly end: SteeringEnd; readonly now: number },
): Promise<void> {
  for (const item of await listWaiting(db, run.id, Number.MAX_SAFE_INTEGER)) {
    if (end === "requeue") await requeue(db, item);
    else await removeMessageRun(db, item.id);
    if (end === "clear") await insertTranscriptItem(db, toTranscriptItem(run, item, now));
    await moveItem(db, item.id, { place: PLACE_AT_END[end], now });
    if (end === "requeue") await audit(db, item, { type: "steering.requeued", now });
    if (end === "drop") await audit(db, item, { type: "steering.dropped", now });
  }
}

const PLACE_AT_END = { requeue: "queue", drop: "dropped", clear: "not_answered" } as const;

async function requeue(db: Kysely<Schema>, { id }: SteeringItem): Promise<void> {
  await db
    .updateTable("run")
    .set({ state: "queued" })
    .where("id", "=", id)
    .where("state", "=", "created")
    .execute();
}

/** The entry of a message in the history of the run that it was meant for. */
export function toTranscriptItem(
  run: Pick<RunRecord, "id" | "tenant" | "conversation">,
  { text }: SteeringItem,
  createdAt: number,
): NewTranscriptItem {
  return {
    tenant: run.tenant,
    conversation: run.conversation,
    runId: run.id,
    eventId: null,
    message: { role: "user", content: text },
    partial: false,
    createdAt,
  };
}

export function toItem(row: Selectable<SteeringItemTable>): SteeringItem {
  return {
    id: row.id,
    tenant: row.tenant,
    runId: row.run_id,
    place: steeringPlaceSchema.parse(row.place),
    text: row.text,
    createdAt: row.created_at,
    changedAt: row.changed_at,
  };
}
