import Database from "better-sqlite3";
import { Kysely, Migrator, SqliteDialect, sql } from "kysely";
import { describe, expect, it } from "vitest";
import { migrate } from "../../../../src/adapters/sql/migrate.js";
import { first } from "../../../../src/adapters/sql/migrations/0001-first.js";
import { openSqlStores } from "../../../../src/adapters/sql/open-sql-stores.js";
import type { Schema } from "../../../../src/adapters/sql/schema.js";
import { SqlRunStore } from "../../../../src/adapters/sql/sql-run-store.js";
import { SqlSessionStore } from "../../../../src/adapters/sql/sql-session-store.js";
import { openSqlite } from "../../../../src/adapters/sqlite/open-sqlite.js";
import { NO_USAGE } from "../../../../src/domain/usage.js";
import { aRun } from "../../../support/records.js";

function anEmptyDatabase() {
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: new Database(":memory:") }) });
  return { db, [Symbol.asyncDispose]: () => db.destroy() };
}

async function tablesOf(db: Kysely<unknown>): Promise<readonly string[]> {
  return (await db.introspection.getTables()).map(({ name }) => name);
}

/** A run as the first version wrote it. */
async function insertFirstRun(db: Kysely<Schema>): Promise<void> {
  const chat = JSON.stringify({ launcher_type: "person", launcher_id: "42", sender_id: "42" });
  await sql`insert into run (id, position, tenant, pipeline, runner, chat_key, conversation, event_id, surface, state,
    on_disconnect, created_at, last_sequence, outbox_left_json, tool_rounds, usage_json, warnings_json)
    values ('run_1', 1, 'main', 'default', 'r', 'person:42', 'c', 'host:1', 'rest', 'running', 'continue', 1500, 0, '[]',
    0, ${JSON.stringify(NO_USAGE)}, '[]')`.execute(db);
  await sql`insert into run_input (run_id, chat_json, input_json, params_json)
    values ('run_1', ${chat}, ${JSON.stringify(aRun().input)}, '{}')`.execute(db);
}

describe("migrate", () => {
  it("makes the tables, and changes nothing the second time", async () => {
    await using database = anEmptyDatabase();
    await migrate(database.db);
    const tables = await tablesOf(database.db);
    expect(tables).toEqual(expect.arrayContaining(["run", "run_event", "session", "file", "attachment"]));
    await migrate(database.db);
    expect(await tablesOf(database.db)).toEqual(tables);
  });

  it("completes a migration that a crash cut short", async () => {
    await using database = anEmptyDatabase();
    await migrate(database.db);
    const tables = await tablesOf(database.db);
    await sql`delete from kysely_migration`.execute(database.db);
    await sql`drop table idempotency_key`.execute(database.db);
    await sql`update counter set value = 7 where name = 'run'`.execute(database.db);
    await migrate(database.db);
    expect(await tablesOf(database.db)).toEqual(tables);
    const { rows } = await sql`select value from counter where name = 'run'`.execute(database.db);
    expect(rows).toEqual([{ value: 7 }]);
  });

  it("leaves the events of a database without keyframes as they are", async () => {
    await using database = openSqlite("sqlite::memory:");
    const provider = { getMigrations: async () => ({ "0001-first": first }) };
    await new Migrator({ db: database.db, provider }).migrateToLatest();
    const chunk = { role: "assistant", content: "whole", is_final: false };
    await insertFirstRun(database.db);
    await sql`insert into run_event (run_id, sequence, type, data_json, timestamp)
      values ('run_1', 1, 'message.delta', ${JSON.stringify({ chunk })}, 'then')`.execute(database.db);
    await migrate(database.db);
    const events = await new SqlRunStore({ database }).eventsAfter("run_1", 0, 9);
    expect(events).toMatchObject([{ sequence: 1, data: { chunk } }]);
  });

  it("takes the runs of before for runs of messages", async () => {
    await using database = openSqlite("sqlite::memory:");
    const provider = { getMigrations: async () => ({ "0001-first": first }) };
    await new Migrator({ db: database.db, provider }).migrateToLatest();
    await insertFirstRun(database.db);
    await migrate(database.db);
    const run = await new SqlRunStore({ database }).get("main", "run_1");
    expect(run?.trigger).toEqual({
      event_type: "message.received",
      event_time: 1.5,
      source_event_type: null,
      actor: { actor_type: "user", id: "42", name: null },
      subject: { type: "message", id: "run_1", data: {} },
      data: {},
    });
  });

  it("takes the sessions of before for used ones, whose losses are told", async () => {
    await using database = openSqlite("sqlite::memory:");
    const provider = { getMigrations: async () => ({ "0001-first": first }) };
    await new Migrator({ db: database.db, provider }).migrateToLatest();
    await sql`insert into session (id, position, tenant, identity, reuse_key, engine, uid, volume, prepared,
      created_at, last_used_at) values ('ses_1', 1, 'main', 'i', 'k', 'local', 30001, 'v', 1, 1, 1)`.execute(
      database.db,
    );
    await migrate(database.db);
    const record = await new SqlSessionStore({ database }).get("main", "ses_1");
    expect(record).toMatchObject({ untold: [] });
  });

  it("refuses a database of a newer version", async () => {
    await using database = anEmptyDatabase();
    await migrate(database.db);
    await sql`insert into kysely_migration values ('9999-later', '2099-01-01')`.execute(database.db);
    await expect(migrate(database.db)).rejects.toMatchObject({
      code: "internal",
      hint: "Was the database written by a newer version? Start that version, or restore a backup.",
    });
  });

  it("names the migration that failed", async () => {
    await using database = anEmptyDatabase();
    await sql`create view run as select 1`.execute(database.db);
    await expect(migrate(database.db)).rejects.toThrow("0001-first");
  });
});

describe("openSqlStores", () => {
  it("closes a database that it cannot bring up to date", async () => {
    const database = openSqlite("sqlite::memory:");
    await sql`create view run as select 1`.execute(database.db);
    await expect(openSqlStores(database)).rejects.toThrow("0001-first");
    await expect(sql`select 1`.execute(database.db)).rejects.toThrow(/destroyed|closed|not open/);
    await database[Symbol.asyncDispose]();
  });
});
