/** Compiles each statement of the stores once: they ask the same few again and again. */
import type Database from "better-sqlite3";
import type { SqliteDatabase, SqliteStatement } from "kysely";

/** Texts with lists of any length in them would pile up otherwise. */
const MAX_KEPT = 300;
/** A pragma does its work while it is compiled, so one that is kept would do nothing. */
const IS_KEPT = /^(?:select|insert|update|delete|begin|commit|rollback)\b/i;

/** @returns the database as the query builder uses it */
export function keepStatements(raw: Database.Database): SqliteDatabase {
  const kept = new Map<string, SqliteStatement>();
  return {
    close: () => void raw.close(),
    prepare: (text) => {
      const known = kept.get(text);
      if (known !== undefined) return known;
      const statement = raw.prepare(text);
      if (!IS_KEPT.test(text)) return statement;
      const [oldest] = kept.keys();
      if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest);
      kept.set(text, statement);
      return statement;
    },
  };
}
