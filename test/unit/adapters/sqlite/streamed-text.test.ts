import fc from "fast-check";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { MemoryRunStore } from "../../../../src/adapters/memory/memory-run-store.js";
import { openSqlStores } from "../../../../src/adapters/sql/open-sql-stores.js";
import type { SqlDatabase } from "../../../../src/adapters/sql/sql-database.js";
import { SqlRunStore } from "../../../../src/adapters/sql/sql-run-store.js";
import { openSqlite } from "../../../../src/adapters/sqlite/open-sqlite.js";
import type { RunEvent } from "../../../../src/domain/run.js";
import type { NewRunEvent, RunStore } from "../../../../src/ports/run-store.js";
import { anOutcome, aRun } from "../../../support/records.js";

const LONG = "Zahlen für 报告 😀\ud800 \udc00\n\u0000".repeat(60);

function aDelta(content: string) {
  const data = { chunk: { role: "assistant", content, is_final: false }, msg_sequence: 1 };
  return { type: "message.delta" as const, data, timestamp: "2026-01-01T00:00:00.000Z" };
}

const warning = { ...aDelta("no answer"), type: "warning" as const };

/** Rolls every event back at its commit while it fails. */
function breakable(database: SqlDatabase, disk: { readonly isFull: boolean }): SqlDatabase {
  return {
    db: database.db,
    isExclusive: database.isExclusive,
    relaxed: (work) =>
      database.relaxed(async (db) => {
        const value = await work(db);
        if (disk.isFull) throw new Error("The disk is full.");
        return value;
      }),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

/** The data to the byte, the rest as far as stores may differ in it. */
function shown(events: readonly RunEvent[]): readonly unknown[] {
  return events.map(({ data, ...rest }) => ({ ...rest, data: JSON.stringify(data) }));
}

async function storedBytes({ db }: SqlDatabase): Promise<number> {
  const { rows } = await sql<{
    bytes: number;
  }>`select sum(length(cast(data_json as blob))) as bytes from run_event`.execute(db);
  return rows[0]?.bytes ?? 0;
}

const grown = fc.nat(90);
const action = fc.oneof(
  { weight: 4, arbitrary: fc.nat(LONG.length).map((chars) => ({ type: "replace" as const, chars })) },
  { weight: 9, arbitrary: grown.map((chars) => ({ type: "grow" as const, chars })) },
  grown.map((chars) => ({ type: "fail" as const, chars })),
  grown.map((chars) => ({ type: "append at once" as const, chars })),
  fc.constant({ type: "warn" as const, chars: 0 }),
  fc.constant({ type: "restart" as const, chars: 0 }),
  fc.constant({ type: "change writers" as const, chars: 0 }),
);

type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never;

/** The same appends to both ledgers; what fails goes to the one in SQL only. */
class TwoLedgers {
  readonly memory = new MemoryRunStore();
  runs: RunStore;
  /** Writes to the same database, and knows nothing of what the first one wrote. */
  #other: RunStore;
  readonly #database: SqlDatabase;
  readonly #disk = { isFull: false };
  #chars = 500;

  constructor(database: SqlDatabase) {
    this.#database = database;
    this.runs = this.#open();
    this.#other = this.#open();
  }

  async take({ type, chars }: Action): Promise<void> {
    const shorter = aDelta(LONG.slice(0, this.#chars));
    const longer = aDelta(LONG.slice(0, this.#chars + chars));
    switch (type) {
      case "replace":
        this.#chars = chars;
        return this.#append(aDelta(LONG.slice(0, chars)));
      case "grow":
        this.#chars += chars;
        return this.#append(longer);
      case "append at once":
        return this.#append(longer, shorter, warning, longer);
      case "warn":
        return this.#append(warning);
      case "fail":
        return this.#fail(longer);
      case "change writers":
        [this.runs, this.#other] = [this.#other, this.runs];
        return;
      default:
        this.runs = this.#open();
    }
  }

  #open(): RunStore {
    return new SqlRunStore({ database: breakable(this.#database, this.#disk) });
  }

  async #append(...events: readonly NewRunEvent[]): Promise<void> {
    await Promise.all(
      [this.runs, this.memory].flatMap((runs) => events.map((event) => runs.appendEvent("run_1", event))),
    );
  }

  async #fail(event: NewRunEvent): Promise<void> {
    this.#disk.isFull = true;
    const failure: unknown = await this.runs.appendEvent("run_1", event).catch((error: unknown) => error);
    this.#disk.isFull = false;
    if (!(failure instanceof Error)) throw new Error("The event was stored on a full disk.");
  }
}

describe("streamed text in SQL", () => {
  it("reads like the ledger in memory, to the byte, from everywhere, after failures and restarts too", async () => {
    const course = fc.array(action, { maxLength: 30, size: "max" });
    const limit = fc.integer({ min: 1, max: 9 });
    await fc.assert(
      fc.asyncProperty(course, limit, async (actions, pageSize) => {
        await using database = openSqlite("sqlite::memory:");
        await using _stores = await openSqlStores(database);
        const ledgers = new TwoLedgers(database);
        await Promise.all([ledgers.runs.create(aRun()), ledgers.memory.create(aRun())]);
        for (const step of actions) await ledgers.take(step);
        const last = await ledgers.memory.lastSequence("run_1");
        for (let after = 0; after <= last; after += 1) {
          const page = await ledgers.runs.eventsAfter("run_1", after, pageSize);
          const expected = await ledgers.memory.eventsAfter("run_1", after, pageSize);
          expect(shown(page)).toEqual(shown(expected));
        }
      }),
      { numRuns: 40 },
    );
  });

  it("takes space by the length of the answer, not by its square", async () => {
    await using database = openSqlite("sqlite::memory:");
    await using stores = await openSqlStores(database);
    await stores.runs.create(aRun());
    const text = "0123456789".repeat(10_000);
    for (let i = 1; i <= 1_000; i += 1)
      await stores.runs.appendEvent("run_1", aDelta(text.slice(0, i * 100)));
    expect(await storedBytes(database)).toBeLessThan(1_000_000);
    const [last] = await stores.runs.eventsAfter("run_1", 999, 9);
    expect(last).toMatchObject({ sequence: 1_000, data: aDelta(text).data });
  });

  it("shortens the texts of several runs that answer in turns", async () => {
    await using database = openSqlite("sqlite::memory:");
    await using stores = await openSqlStores(database);
    for (const id of ["run_1", "run_2"] as const) await stores.runs.create(aRun({ id }));
    for (let chars = 1_000; chars < 1_010; chars += 1)
      for (const id of ["run_1", "run_2"] as const)
        await stores.runs.appendEvent(id, aDelta("x".repeat(chars)));
    expect(await storedBytes(database)).toBeLessThan(2 * 1_000 + 20 * 100);
  });

  it("changes nothing about a text that is refused because its run has ended", async () => {
    await using database = openSqlite("sqlite::memory:");
    await using stores = await openSqlStores(database);
    await stores.runs.create(aRun());
    await stores.runs.appendEvent("run_1", aDelta(LONG.slice(0, 900)));
    await stores.runs.appendEvent("run_1", aDelta(LONG.slice(0, 910)));
    await stores.runs.finish("run_1", anOutcome(), () => aDelta(LONG));
    expect(await stores.runs.appendEvent("run_1", aDelta(LONG))).toBeNull();
    const events = await stores.runs.eventsAfter("run_1", 1, 9);
    expect(events.map(({ data }) => data)).toEqual([aDelta(LONG.slice(0, 910)).data, aDelta(LONG).data]);
  });
});
