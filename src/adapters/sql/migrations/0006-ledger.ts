/** Claims of runs, what others keep with a run, steered messages and the record of what became of them. See 0001 and 0002. */
import { type Kysely, type Migration, sql } from "kysely";

export const ledger: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addRunColumns(db);
    await createSteering(db);
    await addIndex(db, "run", ["tenant", "conversation", "state"]);
    await addIndex(db, "transcript_item", ["tenant", "conversation", "created_at"]);
  },
};

/** Runs of before were never claimed. */
async function addRunColumns(db: Kysely<unknown>): Promise<void> {
  const tables = await db.introspection.getTables();
  const known = new Set(tables.find(({ name }) => name === "run")?.columns.map(({ name }) => name));
  const run = db.schema.alterTable("run");
  if (!known.has("metadata_json"))
    await run.addColumn("metadata_json", "text", (column) => column.notNull().defaultTo("{}")).execute();
  if (!known.has("epoch"))
    await run.addColumn("epoch", "bigint", (column) => column.notNull().defaultTo(0)).execute();
  if (!known.has("worker")) await run.addColumn("worker", "text").execute();
  if (!known.has("claim_expires_at")) await run.addColumn("claim_expires_at", "bigint").execute();
}

async function createSteering(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("steering_item")
    .ifNotExists()
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("position", "bigint", (column) => column.notNull().unique())
    .addColumn("tenant", "text", (column) => column.notNull())
    .addColumn("run_id", "text", (column) => column.notNull().references("run.id").onDelete("cascade"))
    .addColumn("place", "text", (column) => column.notNull())
    .addColumn("text", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("changed_at", "bigint", (column) => column.notNull())
    .execute();
  await addIndex(db, "steering_item", ["run_id", "place", "position"]);
  await db.schema
    .createTable("audit")
    .ifNotExists()
    .addColumn("position", "bigint", (column) => column.primaryKey())
    .addColumn("tenant", "text", (column) => column.notNull())
    .addColumn("run_id", "text", (column) => column.notNull().references("run.id").onDelete("cascade"))
    .addColumn("type", "text", (column) => column.notNull())
    .addColumn("subject", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .execute();
  await addIndex(db, "audit", ["run_id", "position"]);
  for (const name of ["steering_item", "audit"])
    await sql`insert into counter (name, value) values (${name}, 0) on conflict (name) do nothing`.execute(
      db,
    );
}

async function addIndex(db: Kysely<unknown>, table: string, columns: readonly string[]): Promise<void> {
  await db.schema
    .createIndex(`${table}_by_${columns.join("_")}`)
    .ifNotExists()
    .on(table)
    .columns([...columns])
    .execute();
}
