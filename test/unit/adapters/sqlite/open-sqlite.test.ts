import { cp, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqlStores } from "../../../../src/adapters/sql/open-sql-stores.js";
import type { SqlDatabase } from "../../../../src/adapters/sql/sql-database.js";
import { openSqlite } from "../../../../src/adapters/sqlite/open-sqlite.js";
import { aFile, anOutcome, aRun, aSession, aTranscriptItem } from "../../../support/records.js";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-sqlite-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const started = { type: "run.started" as const, data: {}, timestamp: "2026-01-01T00:00:00.000Z" };
const ended = { type: "run.completed" as const, data: {}, timestamp: "2026-01-01T00:00:01.000Z" };

async function synchronousLevel(database: SqlDatabase): Promise<unknown> {
  const { rows } = await sql<{ synchronous: number }>`pragma synchronous`.execute(database.db);
  return rows[0]?.synchronous;
}

const NORMAL = 1;
const FULL = 2;

describe("openSqlite", () => {
  it.each(["postgres://localhost/berth", "./berth.db", "sqlite:", ""])("refuses the address %j", (url) => {
    expect(() => openSqlite(url)).toThrow(
      expect.objectContaining({
        code: "request.invalid",
        hint: "Write sqlite:<path>, for example sqlite:./data/berth.db.",
      }),
    );
  });

  it.each(["sqlite:", "sqlite://"])(
    "makes the directories of a database at %s<absolute path>",
    async (scheme) => {
      const path = join(folder, "deep", "er", "berth.db");
      await using _stores = await openSqlStores(openSqlite(`${scheme}${path}`));
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect((await stat(join(folder, "deep"))).mode & 0o777).toBe(0o700);
    },
  );

  it("finds everything again after it was closed and opened", async () => {
    const url = `sqlite:${join(folder, "berth.db")}`;
    {
      await using stores = await openSqlStores(openSqlite(url));
      await stores.runs.create(aRun());
      await stores.runs.appendEvent("run_1", started);
      await stores.runs.finish("run_1", anOutcome(), () => ended);
      await stores.sessions.findOrCreate(aSession());
      await stores.files.register([aFile()]);
      await stores.transcripts.append(aTranscriptItem());
    }
    await using again = await openSqlStores(openSqlite(url));
    expect(await again.runs.get("main", "run_1")).toEqual({ ...aRun(), ...anOutcome() });
    expect(await again.runs.eventsAfter("run_1", 0, 9)).toMatchObject([{ sequence: 1 }, { sequence: 2 }]);
    expect(await again.sessions.listAll()).toEqual([aSession()]);
    expect(await again.files.get("main", "file_1")).toEqual(aFile());
    const page = { direction: "forward" as const, from: null, limit: 9 };
    expect(await again.transcripts.page("main", "conversation-1", page)).toHaveLength(1);
  });

  it("finds what was stored, plain events included, in files left behind by a process that died", async () => {
    await using stores = await openSqlStores(openSqlite(`sqlite:${join(folder, "berth.db")}`));
    await stores.runs.create(aRun());
    await stores.runs.appendEvent("run_1", started);
    // The files as they lie there, without any closing word to the database.
    for (const ending of ["", "-wal"])
      await cp(join(folder, `berth.db${ending}`), join(folder, `left.db${ending}`));
    await using found = await openSqlStores(openSqlite(`sqlite:${join(folder, "left.db")}`));
    expect(await found.runs.listOpen()).toEqual([aRun()]);
    expect(await found.runs.eventsAfter("run_1", 0, 9)).toMatchObject([{ type: "run.started" }]);
    expect(await found.runs.appendEvent("run_1", started)).toMatchObject({ sequence: 2 });
  });

  it("lets no second service at a database, until the first has closed it", async () => {
    const url = `sqlite:${join(folder, "berth.db")}`;
    const first = openSqlite(url);
    await using _opened = await openSqlStores(first);
    expect(() => openSqlite(url)).toThrow(
      expect.objectContaining({
        code: "service.not_ready",
        message: "The database is in use by another process.",
      }),
    );
    await first[Symbol.asyncDispose]();
    await using second = openSqlite(url);
    expect(await synchronousLevel(second)).toBe(FULL);
  });

  it("says that a file is no database, and keeps no claim on it", async () => {
    const path = join(folder, "berth.db");
    await writeFile(
      path,
      "This is a text, and it is long enough not to be taken for an empty database.".repeat(20),
    );
    expect(() => openSqlite(`sqlite:${path}`)).toThrow(
      expect.objectContaining({ code: "internal", message: "The database cannot be opened." }),
    );
    await rm(path);
    await using again = openSqlite(`sqlite:${path}`);
    expect(await synchronousLevel(again)).toBe(FULL);
  });

  it("waits for the disk with every commit but the relaxed ones", async () => {
    await using database = openSqlite("sqlite::memory:");
    await using _stores = await openSqlStores(database);
    expect(await synchronousLevel(database)).toBe(FULL);
    const seen = await database.relaxed(async (db) => {
      const { rows } = await sql<{ synchronous: number }>`pragma synchronous`.execute(db);
      return rows[0]?.synchronous;
    });
    expect(seen).toBe(NORMAL);
    const failed = database.relaxed(() => Promise.reject(new Error("rolled back")));
    await expect(failed).rejects.toThrow("rolled back");
    expect(await synchronousLevel(database)).toBe(FULL);
  });

  it("lets work that is going on end before it closes, and takes none afterwards", async () => {
    const stores = await openSqlStores(openSqlite("sqlite::memory:"));
    const created = stores.runs.create(aRun());
    await Promise.all([stores[Symbol.asyncDispose](), stores[Symbol.asyncDispose]()]);
    await expect(created).resolves.toBeUndefined();
    await expect(stores.ping()).rejects.toThrow(/destroyed|closed|not open/);
    await expect(stores[Symbol.asyncDispose]()).resolves.toBeUndefined();
  });

  it("answers a ping while it is open", async () => {
    await using stores = await openSqlStores(openSqlite("sqlite::memory:"));
    await expect(stores.ping()).resolves.toBeUndefined();
  });
});
