/** Event records, and what each run answers to. Every statement may be repeated: see 0001. */
import { type Kysely, type Migration, sql } from "kysely";

export const events: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addTrigger(db);
    await createEventRecords(db);
    await addIndex(db, "run", ["tenant", "conversation", "position"]);
    await sql`insert into counter (name, value) values ('event_record', 0) on conflict (name) do nothing`.execute(
      db,
    );
  },
};

/** Runs of before were asked for by messages; they have none. */
async function addTrigger(db: Kysely<unknown>): Promise<void> {
  const tables = await db.introspection.getTables();
  const columns = tables.find(({ name }) => name === "run_input")?.columns ?? [];
  if (columns.some(({ name }) => name === "trigger_json")) return;
  await db.schema.alterTable("run_input").addColumn("trigger_json", "text").execute();
}

async function createEventRecords(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("event_record")
    .ifNotExists()
    .addColumn("sequence", "bigint", (column) => column.primaryKey())
    .addColumn("run_id", "text", (column) => column.notNull().unique())
    .addColumn("tenant", "text", (column) => column.notNull())
    .addColumn("conversation", "text", (column) => column.notNull())
    .addColumn("event_id", "text", (column) => column.notNull())
    .addColumn("event_type", "text", (column) => column.notNull())
    .addColumn("event_time", "double precision", (column) => column.notNull())
    .addColumn("source", "text", (column) => column.notNull())
    .addColumn("source_event_type", "text")
    .addColumn("actor_json", "text", (column) => column.notNull())
    .addColumn("subject_json", "text", (column) => column.notNull())
    .addColumn("data_json", "text", (column) => column.notNull())
    .addColumn("summary", "text", (column) => column.notNull())
    .addColumn("bot_id", "text")
    .addColumn("conversation_id", "text")
    .addColumn("thread_id", "text")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .execute();
  await addIndex(db, "event_record", ["tenant", "conversation", "sequence"]);
  await addIndex(db, "event_record", ["tenant", "event_id", "sequence"]);
  await addIndex(db, "event_record", ["created_at"]);
}

async function addIndex(db: Kysely<unknown>, table: string, columns: readonly string[]): Promise<void> {
  await db.schema
    .createIndex(`${table}_by_${columns.join("_")}`)
    .ifNotExists()
    .on(table)
    .columns([...columns])
    .execute();
}
