/** Statements that are compiled once. */
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { keepStatements } from "../../../../src/adapters/sqlite/kept-statements.js";

it("compiles a query once and a pragma every time", () => {
  const database = keepStatements(new Database(":memory:"));
  expect(database.prepare("select 1")).toBe(database.prepare("select 1"));
  expect(database.prepare("pragma synchronous")).not.toBe(database.prepare("pragma synchronous"));
  database.close();
});

it("lets go of the oldest statement when too many are kept", () => {
  const database = keepStatements(new Database(":memory:"));
  const first = database.prepare("select 0");
  for (let i = 1; i <= 300; i += 1) database.prepare(`select ${i}`);
  expect(database.prepare("select 0")).not.toBe(first);
  database.close();
});
