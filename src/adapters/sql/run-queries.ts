/** Steps of the ledger that work in any transaction. */
import type { Kysely, Selectable, SelectQueryBuilder } from "kysely";
import {
  type AttachmentOutcome,
  type AttachmentSource,
  attachmentSourceSchema,
} from "../../domain/attachment.js";
import type { RunId } from "../../domain/ids.js";
import { isTerminal, type OpenState, RUN_STATES, type RunEvent } from "../../domain/run.js";
import type { NewRunEvent, RunRecord } from "../../ports/run-store.js";
import type { ReceiversOf } from "../../ports/webhook-outbox.js";
import { type DeltaTrail, keyframeBefore, packEvent, textBefore, unpackEvents } from "./delta-trail.js";
import { readNullableJson, writeJson } from "./json-column.js";
import {
  type StoredRun,
  toAttachmentRows,
  toOutcomeRows,
  toPackedEvent,
  toRunEventRow,
  toRunInputRow,
  toRunRecord,
  toRunRow,
  toSourceRows,
} from "./run-row.js";
import type { AttachmentTable, RunEventTable, Schema } from "./schema.js";
import { nextPosition } from "./sql-database.js";
import { noteForReceivers } from "./sql-webhook-outbox.js";

export const OPEN_STATES = RUN_STATES.filter((state): state is OpenState => !isTerminal(state));

export function selectRuns(db: Kysely<Schema>): SelectQueryBuilder<Schema, "run" | "run_input", StoredRun> {
  return db
    .selectFrom("run")
    .innerJoin("run_input", "run_input.run_id", "run.id")
    .selectAll("run")
    .select([
      "run_input.chat_json",
      "run_input.input_json",
      "run_input.params_json",
      "run_input.trigger_json",
    ]);
}

/** Call it in a transaction. */
export async function insertRun(db: Kysely<Schema>, run: RunRecord): Promise<void> {
  const position = await nextPosition(db, "run");
  await db.insertInto("run").values(toRunRow(run, position)).execute();
  await db.insertInto("run_input").values(toRunInputRow(run)).execute();
  for (const row of toAttachmentRows(run)) await db.insertInto("attachment").values(row).execute();
}

/** @param tenant whose run it must be; none for the service's own work */
export async function readRun(db: Kysely<Schema>, id: RunId, tenant?: string): Promise<RunRecord | null> {
  let query = selectRuns(db).where("run.id", "=", id);
  if (tenant !== undefined) query = query.where("run.tenant", "=", tenant);
  const [record] = await withAttachments(db, await query.execute());
  return record ?? null;
}

/** @returns the runs in the order of the rows */
export async function withAttachments(
  db: Kysely<Schema>,
  rows: readonly StoredRun[],
): Promise<readonly RunRecord[]> {
  if (rows.length === 0) return [];
  const attachments = await db
    .selectFrom("attachment")
    .selectAll()
    .where(
      "run_id",
      "in",
      rows.map(({ id }) => id),
    )
    .orderBy("run_id")
    .orderBy("idx")
    .execute();
  const byRun = new Map<RunId, Selectable<AttachmentTable>[]>(rows.map(({ id }) => [id, []]));
  for (const attachment of attachments) byRun.get(attachment.run_id)?.push(attachment);
  return rows.map((row) => toRunRecord(row, byRun.get(row.id) ?? []));
}

/**
 * Takes the next number of a run that is not terminal, in one statement, and stores the event under it.
 * @param trail what is known about the text that the run stored last
 * @param facts.epoch of the claim under which it is written; `receiversOf`: who is to be told of it
 * @returns the event, and the trail as it stands once the transaction is committed; null when the run is terminal or
 * claimed anew
 */
export async function appendEvent(
  db: Kysely<Schema>,
  id: RunId,
  {
    event,
    trail: before,
    epoch,
    receiversOf = () => [],
  }: {
    readonly event: NewRunEvent;
    readonly trail: DeltaTrail | null;
    readonly epoch?: number | undefined;
    readonly receiversOf?: ReceiversOf | undefined;
  },
): Promise<{ readonly stored: RunEvent; readonly trail: DeltaTrail | null } | null> {
  let numbering = db
    .updateTable("run")
    .set((expression) => ({ last_sequence: expression("last_sequence", "+", 1) }))
    .where("id", "=", id)
    .where("state", "in", OPEN_STATES);
  if (epoch !== undefined) numbering = numbering.where("epoch", "=", epoch);
  const numbered = await numbering
    .returning(["last_sequence as sequence", "tenant", "pipeline"])
    .executeTakeFirst();
  if (numbered === undefined) return null;
  const { type, data, timestamp } = event;
  const stored = { type, data, run_id: id, sequence: numbered.sequence, timestamp };
  const { trail, ...packed } = packEvent(stored, before);
  await db.insertInto("run_event").values(toRunEventRow(id, packed)).execute();
  const { tenant, pipeline } = numbered;
  await noteForReceivers(db, stored, { id, tenant, pipeline, receiversOf });
  return { stored, trail };
}

/** @returns events of a run after a number, whole; the rows that the first ones stand on are read when the trail does not tell */
export async function readEvents(
  db: Kysely<Schema>,
  id: RunId,
  wanted: { readonly after: number; readonly limit: number; readonly trail: DeltaTrail | null },
): Promise<readonly RunEvent[]> {
  const { after, limit, trail } = wanted;
  const rows = await selectEvents(db, id).where("sequence", ">", after).limit(limit).execute();
  const page = rows.map(toPackedEvent);
  const keyframe = keyframeBefore(page);
  if (keyframe === null) return unpackEvents(page);
  const start = textBefore(page, keyframe, trail);
  if (start !== null) return unpackEvents(page, start);
  const before = await selectEvents(db, id)
    .where("sequence", ">=", keyframe)
    .where("sequence", "<=", after)
    .where((row) => row.or([row("sequence", "=", keyframe), row("keyframe", "=", keyframe)]))
    .execute();
  return unpackEvents([...before.map(toPackedEvent), ...page]).slice(before.length);
}

function selectEvents(
  db: Kysely<Schema>,
  id: RunId,
): SelectQueryBuilder<Schema, "run_event", Selectable<RunEventTable>> {
  return db.selectFrom("run_event").selectAll().where("run_id", "=", id).orderBy("sequence");
}

/** Makes these the outcomes of the run's attachments; their sources stay. */
export async function writeOutcomes(
  db: Kysely<Schema>,
  id: RunId,
  outcomes: readonly AttachmentOutcome[],
): Promise<void> {
  await db
    .updateTable("attachment")
    .set({ outcome_json: null })
    .where("run_id", "=", id)
    .where("idx", ">=", outcomes.length)
    .execute();
  for (const row of toOutcomeRows(id, outcomes))
    await db
      .insertInto("attachment")
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(["run_id", "idx"]).doUpdateSet({ outcome_json: row.outcome_json }),
      )
      .execute();
}

/** Makes these the sources of the run's attachments; their outcomes stay. */
export async function writeSources(
  db: Kysely<Schema>,
  id: RunId,
  sources: readonly AttachmentSource[],
): Promise<void> {
  await db
    .updateTable("attachment")
    .set({ source_json: null, sha256: null })
    .where("run_id", "=", id)
    .where("idx", ">=", sources.length)
    .execute();
  for (const row of toSourceRows(id, sources))
    await db
      .insertInto("attachment")
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(["run_id", "idx"]).doUpdateSet({ source_json: row.source_json, sha256: row.sha256 }),
      )
      .execute();
}

/** @returns sha256 of the attachments whose bytes were let go */
export async function releaseAttachments(
  db: Kysely<Schema>,
  due: { readonly createdBefore: number; readonly reason: string; readonly limit: number },
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("attachment")
    .innerJoin("run", "run.id", "attachment.run_id")
    .selectAll("attachment")
    .where("attachment.sha256", "is not", null)
    .where("run.created_at", "<", due.createdBefore)
    .where("run.state", "not in", OPEN_STATES)
    .limit(due.limit)
    .execute();
  for (const row of rows)
    await db
      .updateTable("attachment")
      .set({ sha256: null, source_json: writeJson(releasedSource(row, due.reason)) })
      .where("run_id", "=", row.run_id)
      .where("idx", "=", row.idx)
      .execute();
  return rows.flatMap(({ sha256 }) => (sha256 === null ? [] : [sha256]));
}

function releasedSource(row: Selectable<AttachmentTable>, reason: string) {
  const source = readNullableJson(attachmentSourceSchema, row.source_json);
  const sizeBytes = source?.kind === "blob" ? source.sizeBytes : null;
  return { kind: "refused", reason, sizeBytes };
}
