import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryRunStore } from "../../../../src/adapters/memory/memory-run-store.js";
import { openSqlStores } from "../../../../src/adapters/sql/open-sql-stores.js";
import { openSqlite } from "../../../../src/adapters/sqlite/open-sqlite.js";
import { type OpenState, RUN_STATES, type TerminalState } from "../../../../src/domain/run.js";
import type { RunStore } from "../../../../src/ports/run-store.js";
import { anOutcome, aRun } from "../../../support/records.js";

type Step = (runs: RunStore) => Promise<unknown>;

const id = fc.constantFrom("run_a", "run_b", "run_c");
const open = fc.constantFrom<OpenState>("created", "queued", "claimed", "running");
const terminal = fc.constantFrom<TerminalState>("completed", "failed", "cancelled", "timeout");
const session = fc.option(fc.constant({ id: "ses_1" as const, key: "k" }));
const event = { type: "warning" as const, data: { code: "x" }, timestamp: "2026-01-01T00:00:00.000Z" };
const text = "An answer in pieces. ".repeat(20);
const error = { code: "delivery.failed", message: "No.", retryable: false };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(id, open, session).map(
    ([run, state, held]): Step =>
      (runs) =>
        runs.create(aRun({ id: run, state, session: held })).then(
          () => "created",
          () => "refused",
        ),
  ),
  fc.tuple(id, open).map(
    ([run, state]): Step =>
      (runs) =>
        runs.update(run, { state }),
  ),
  id.map(
    (run): Step =>
      (runs) =>
        runs.appendEvent(run, event),
  ),
  fc.tuple(id, fc.integer({ min: 200, max: text.length })).map(([run, length]): Step => {
    const data = { chunk: { role: "assistant", content: text.slice(0, length), is_final: false } };
    return (runs) => runs.appendEvent(run, { ...event, type: "message.delta", data });
  }),
  fc.tuple(id, terminal).map(
    ([run, state]): Step =>
      (runs) =>
        runs.finish(run, anOutcome({ state }), () => event),
  ),
  id.map(
    (run): Step =>
      (runs) =>
        runs.failDelivered(run, error),
  ),
  fc.tuple(id, fc.nat(4)).map(
    ([run, after]): Step =>
      (runs) =>
        runs.eventsAfter(run, after, 3),
  ),
  fc
    .record({
      limit: fc.integer({ min: 1, max: 3 }),
      after: fc.option(id),
      states: fc.subarray([...RUN_STATES]),
    })
    .map(({ limit, after, states }): Step => {
      return (runs) => runs.list("main", { limit, states, after: after ?? undefined });
    }),
  fc.constant<Step>((runs) => runs.listOpen()),
);

describe("the ledgers in memory and in SQL", () => {
  it("answer every course of events alike", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        await using sql = await openSqlStores(openSqlite("sqlite::memory:"));
        const memory = new MemoryRunStore();
        for (const take of steps) expect(await take(sql.runs)).toEqual(await take(memory));
        for (const run of ["run_a", "run_b", "run_c"] as const)
          expect(await sql.runs.get("main", run)).toEqual(await memory.get("main", run));
      }),
      { numRuns: 40 },
    );
  });
});
