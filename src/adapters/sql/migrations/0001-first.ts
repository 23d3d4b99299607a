/** The first tables. Every statement may be repeated: SQLite does not undo a migration that a crash cut short. */
import { type Kysely, type Migration, sql } from "kysely";

export const first: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createCounter(db);
    await createRuns(db);
    await createRunParts(db);
    await createSessions(db);
    await createTranscript(db);
    await createFiles(db);
    await createIdempotencyKeys(db);
  },
};

async function createCounter(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("counter")
    .ifNotExists()
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("value", "bigint", (column) => column.notNull())
    .execute();
  for (const name of ["run", "session", "file", "transcript_item"])
    await sql`insert into counter (name, value) values (${name}, 0) on conflict (name) do nothing`.execute(
      db,
    );
}

async function createRuns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("run")
    .ifNotExists()
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("position", "bigint", (column) => column.notNull().unique())
    .addColumn("tenant", "text", (column) => column.notNull())
    .addColumn("pipeline", "text", (column) => column.notNull())
    .addColumn("runner", "text", (column) => column.notNull())
    .addColumn("chat_key", "text", (column) => column.notNull())
    .addColumn("conversation", "text", (column) => column.notNull())
    .addColumn("event_id", "text", (column) => column.notNull())
    .addColumn("surface", "text", (column) => column.notNull())
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("session_id", "text")
    .addColumn("session_key", "text")
    .addColumn("on_disconnect", "text", (column) => column.notNull())
    .addColumn("retry_of", "text")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("started_at", "bigint")
    .addColumn("ended_at", "bigint")
    .addColumn("last_sequence", "bigint", (column) => column.notNull())
    .addColumn("message_json", "text")
    .addColumn("outbox_left_json", "text", (column) => column.notNull())
    .addColumn("model", "text")
    .addColumn("tool_rounds", "bigint", (column) => column.notNull())
    .addColumn("usage_json", "text", (column) => column.notNull())
    .addColumn("finish_reason", "text")
    .addColumn("warnings_json", "text", (column) => column.notNull())
    .addColumn("error_json", "text")
    .execute();
  await addIndex(db, "run", ["tenant", "position"]);
  await addIndex(db, "run", ["tenant", "session_id", "position"]);
  await addIndex(db, "run", ["tenant", "chat_key", "position"]);
  await addIndex(db, "run", ["tenant", "state", "position"]);
  await addIndex(db, "run", ["state", "position"]);
  await addIndex(db, "run", ["created_at"]);
}

async function createRunParts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("run_input")
    .ifNotExists()
    .addColumn("run_id", "text", (column) => column.primaryKey().references("run.id").onDelete("cascade"))
    .addColumn("chat_json", "text", (column) => column.notNull())
    .addColumn("input_json", "text", (column) => column.notNull())
    .addColumn("params_json", "text", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("run_event")
    .ifNotExists()
    .addColumn("run_id", "text", (column) => column.notNull().references("run.id").onDelete("cascade"))
    .addColumn("sequence", "bigint", (column) => column.notNull())
    .addColumn("type", "text", (column) => column.notNull())
    .addColumn("data_json", "text", (column) => column.notNull())
    .addColumn("timestamp", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("run_event_key", ["run_id", "sequence"])
    .execute();
  await db.schema
    .createTable("attachment")
    .ifNotExists()
    .addColumn("run_id", "text", (column) => column.notNull().references("run.id").onDelete("cascade"))
    .addColumn("idx", "bigint", (column) => column.notNull())
    .addColumn("outcome_json", "text")
    .addColumn("source_json", "text")
    .addColumn("sha256", "text")
    .addPrimaryKeyConstraint("attachment_key", ["run_id", "idx"])
    .execute();
  await addIndex(db, "attachment", ["sha256"]);
}

async function createSessions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("session")
    .ifNotExists()
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("position", "bigint", (column) => column.notNull().unique())
    .addColumn("tenant", "text", (column) => column.notNull())
    .addColumn("identity", "text", (column) => column.notNull())
    .addColumn("reuse_key", "text", (column) => column.notNull())
    .addColumn("engine", "text", (column) => column.notNull())
    .addColumn("uid", "bigint", (column) => column.notNull())
    .addColumn("volume", "text", (column) => column.notNull())
    .addColumn("container", "text")
    .addColumn("prepared", "bigint", (column) => column.notNull())
    .addColumn("settings", "text")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("last_used_at", "bigint", (column) => column.notNull())
    .addUniqueConstraint("session_identity", ["tenant", "identity"])
    .execute();
  await addIndex(db, "session", ["tenant", "position"]);
}

async function createTranscript(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("transcript_item")
    .ifNotExists()
    .addColumn("tenant", "text", (column) => column.notNull())
    .addColumn("conversation", "text", (column) => column.notNull())
    .addColumn("sequence", "bigint", (column) => column.notNull())
    .addColumn("run_id", "text", (column) => column.notNull())
    .addColumn("event_id", "text")
    .addColumn("message_json", "text", (column) => column.notNull())
    .addColumn("partial", "bigint", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("transcript_item_key", ["tenant", "conversation", "sequence"])
    .execute();
  await addIndex(db, "transcript_item", ["run_id", "sequence"]);
}

async function createFiles(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("file")
    .ifNotExists()
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("position", "bigint", (column) => column.notNull().unique())
    .addColumn("tenant", "text", (column) => column.notNull())
    .addColumn("run_id", "text")
    .addColumn("purpose", "text", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("mime_type", "text", (column) => column.notNull())
    .addColumn("size_bytes", "bigint", (column) => column.notNull())
    .addColumn("sha256", "text", (column) => column.notNull())
    .addColumn("source_path", "text")
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .execute();
  await addIndex(db, "file", ["tenant", "position"]);
  await addIndex(db, "file", ["tenant", "purpose", "position"]);
  await addIndex(db, "file", ["tenant", "run_id", "position"]);
  await addIndex(db, "file", ["sha256"]);
  await addIndex(db, "file", ["created_at", "position"]);
}

async function createIdempotencyKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("idempotency_key")
    .ifNotExists()
    .addColumn("tenant", "text", (column) => column.notNull())
    .addColumn("key", "text", (column) => column.notNull())
    .addColumn("body_hash", "text", (column) => column.notNull())
    .addColumn("run_id", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("idempotency_key_key", ["tenant", "key"])
    .execute();
  await addIndex(db, "idempotency_key", ["created_at"]);
}

async function addIndex(db: Kysely<unknown>, table: string, columns: readonly string[]): Promise<void> {
  const name = `${table}_by_${columns.join("_")}`;
  await db.schema
    .createIndex(name)
    .ifNotExists()
    .on(table)
    .columns([...columns])
    .execute();
}
