/** Event records in SQL (runs §17). */
import type { Insertable, Kysely, Selectable } from "kysely";
import { z } from "zod";
import { actorSchema, eventTypeSchema, subjectSchema } from "../../domain/event.js";
import type { EventEntry } from "../../domain/history.js";
import type { EventPageRequest, EventScope, EventStore, NewEventRecord } from "../../ports/event-store.js";
import { readJson, writeJson } from "./json-column.js";
import type { EventRecordTable, Schema } from "./schema.js";
import { nextPosition, type SqlDatabase } from "./sql-database.js";

const dataSchema = z.record(z.string(), z.unknown());

export class SqlEventStore implements EventStore {
  readonly #deps: { readonly database: SqlDatabase };

  constructor(deps: { readonly database: SqlDatabase }) {
    this.#deps = deps;
  }

  async append(record: NewEventRecord): Promise<EventEntry> {
    return this.#db.transaction().execute(async (transaction) => {
      const standing = await transaction
        .selectFrom("event_record")
        .selectAll()
        .where("run_id", "=", record.run_id)
        .executeTakeFirst();
      if (standing !== undefined) return toEntry(standing);
      const row = toRow(record, await nextPosition(transaction, "event_record"));
      await transaction.insertInto("event_record").values(row).execute();
      const { tenant: _tenant, conversation: _conversation, ...entry } = record;
      return { ...entry, sequence: row.sequence };
    });
  }

  async get({ tenant, conversation }: EventScope, eventId: string): Promise<EventEntry | null> {
    const row = await this.#db
      .selectFrom("event_record")
      .selectAll()
      .where("tenant", "=", tenant)
      .where("event_id", "=", eventId)
      .where("conversation", "=", conversation)
      .orderBy("sequence", "desc")
      .limit(1)
      .executeTakeFirst();
    return row === undefined ? null : toEntry(row);
  }

  async page(
    { tenant, conversation }: EventScope,
    { direction, from, limit }: EventPageRequest,
  ): Promise<readonly EventEntry[]> {
    const isBackward = direction === "backward";
    let query = this.#db
      .selectFrom("event_record")
      .selectAll()
      .where("tenant", "=", tenant)
      .where("conversation", "=", conversation);
    if (from !== null) query = query.where("sequence", isBackward ? "<" : ">", from);
    const rows = await query
      .orderBy("sequence", isBackward ? "desc" : "asc")
      .limit(limit)
      .execute();
    return rows.map(toEntry);
  }

  async removeOlderThan(createdBefore: number, limit: number): Promise<number> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("event_record")
      .where("sequence", "in", (expression) =>
        expression
          .selectFrom("event_record")
          .select("sequence")
          .where("created_at", "<", createdBefore)
          .limit(limit),
      )
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  get #db(): Kysely<Schema> {
    return this.#deps.database.db;
  }
}

function toRow(
  record: NewEventRecord,
  sequence: number,
): Insertable<EventRecordTable> & { sequence: number } {
  const { actor, subject, data, ...columns } = record;
  return {
    ...columns,
    sequence,
    actor_json: writeJson(actor),
    subject_json: writeJson(subject),
    data_json: writeJson(data),
  };
}

function toEntry(row: Selectable<EventRecordTable>): EventEntry {
  const {
    tenant: _tenant,
    conversation: _conversation,
    actor_json,
    subject_json,
    data_json,
    ...columns
  } = row;
  return {
    ...columns,
    event_type: eventTypeSchema.parse(columns.event_type),
    actor: readJson(actorSchema, actor_json),
    subject: readJson(subjectSchema, subject_json),
    data: readJson(dataSchema, data_json),
  };
}
