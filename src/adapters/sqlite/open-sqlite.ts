/** Opens SQLite as the stores need it: one connection, one process, durable commits. */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { Kysely, SqliteDialect, sql } from "kysely";
import { ServiceError } from "../../domain/errors.js";
import type { Schema } from "../sql/schema.js";
import type { SqlDatabase } from "../sql/sql-database.js";
import { keepStatements } from "./kept-statements.js";

/** How long a statement waits for another program that holds a lock, such as a backup. */
const BUSY_TIMEOUT_MS = 2_000;

/**
 * @param url `sqlite:<path>`, relative to the working directory, or `sqlite::memory:`; missing directories are made
 * @throws ServiceError `request.invalid` for another kind of address, `service.not_ready` when another process has the
 *   database open, `internal` when it cannot be opened
 */
export function openSqlite(url: string): SqlDatabase {
  const path = parseSqliteUrl(url);
  if (path === null) return wrap(openRaw(":memory:"), null);
  try {
    makeFile(path);
    return openClaimed(path);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError("internal", "The database cannot be opened.", {
      hint: "Is the file a SQLite database, and may the service write it?",
      cause: error,
    });
  }
}

/** @returns null for a database in memory */
function parseSqliteUrl(url: string): string | null {
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1];
  if (path === undefined)
    throw new ServiceError("request.invalid", `"${url}" is not the address of a SQLite database.`, {
      hint: "Write sqlite:<path>, for example sqlite:./data/berth.db.",
    });
  return path === ":memory:" ? null : path;
}

/** Conversations are nobody else's to read; SQLite gives its other files the mode of this one. */
function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
}

function openClaimed(path: string): SqlDatabase {
  const claim = claimDatabase(path);
  try {
    return wrap(openRaw(path), claim);
  } catch (error) {
    claim.close();
    throw error;
  }
}

/**
 * Two services on one database would each end the other's runs. The claim is a lock on a file beside it, which the
 * system drops with the process; the database itself stays open to backups and to a look from outside.
 */
function claimDatabase(path: string): Database.Database {
  const claim = new Database(`${path}.lock`, { timeout: 0 });
  try {
    claim.exec("begin exclusive");
    return claim;
  } catch (error) {
    claim.close();
    throw new ServiceError("service.not_ready", "The database is in use by another process.", {
      hint: "Stop the other service, or give this one a place of its own by storage.directory or BERTH_DATA_DIR.",
      cause: error,
    });
  }
}

function openRaw(path: string): Database.Database {
  const raw = new Database(path);
  try {
    raw.pragma("journal_mode = WAL");
    raw.pragma("synchronous = FULL");
    raw.pragma("foreign_keys = ON");
    raw.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return raw;
  } catch (error) {
    raw.close();
    throw error;
  }
}

function wrap(raw: Database.Database, claim: Database.Database | null): SqlDatabase {
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: keepStatements(raw) }) });
  const close = async (): Promise<void> => {
    // Whoever waits for the one connection goes first.
    await db.connection().execute(async () => undefined);
    await db.destroy();
    claim?.close();
  };
  let closed: Promise<void> | null = null;
  return {
    db,
    isExclusive: true,
    // The level belongs to the connection and cannot change inside a transaction, so the connection is held around it.
    relaxed: (work) =>
      db.connection().execute(async (connection) => {
        await sql`pragma synchronous = normal`.execute(connection);
        try {
          return await connection.transaction().execute(work);
        } finally {
          await sql`pragma synchronous = full`.execute(connection);
        }
      }),
    [Symbol.asyncDispose]: () => {
      closed ??= close();
      return closed;
    },
  };
}
