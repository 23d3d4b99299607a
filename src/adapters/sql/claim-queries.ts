/** Claims of the ledger in SQL (runs §20.3, design §6). */
import { type Expression, type Kysely, type SqlBool, sql } from "kysely";
import type { RunId } from "../../domain/ids.js";
import type { RunState } from "../../domain/run.js";
import type { Claimant, RunRecord } from "../../ports/run-store.js";
import { readRun, selectRuns, withAttachments } from "./run-queries.js";
import type { Schema } from "./schema.js";

/** States in which somebody works on a run. */
const HELD: readonly RunState[] = ["claimed", "running"];

/** A run that was running before there were claims has none: nobody works on it. */
function isExpired(now: number): Expression<SqlBool> {
  return sql<SqlBool>`coalesce(run.claim_expires_at, 0) <= ${now}`;
}

/** Call it in a transaction. */
export async function claimRun(db: Kysely<Schema>, id: RunId, by: Claimant): Promise<RunRecord | null> {
  const { numUpdatedRows } = await db
    .updateTable("run")
    .set((expression) => ({
      state: "claimed",
      epoch: expression("epoch", "+", 1),
      worker: by.worker,
      claim_expires_at: by.expiresAt,
    }))
    .where("id", "=", id)
    .where((run) => {
      const held = run
        .selectFrom("run as other")
        .select("other.id")
        .whereRef("other.tenant", "=", "run.tenant")
        .whereRef("other.conversation", "=", "run.conversation")
        .where("other.state", "in", HELD)
        .where("other.worker", "!=", by.worker);
      const isNext = run.and([run("state", "=", "queued"), run.not(run.exists(held))]);
      return run.or([isNext, run.and([run("state", "in", HELD), isExpired(by.now)])]);
    })
    .executeTakeFirst();
  return numUpdatedRows === 0n ? null : readRun(db, id);
}

export async function renewClaims(db: Kysely<Schema>, by: Claimant): Promise<readonly RunId[]> {
  const rows = await db
    .updateTable("run")
    .set({ claim_expires_at: by.expiresAt })
    .where("state", "in", HELD)
    .where("worker", "=", by.worker)
    .where("claim_expires_at", ">", by.now)
    .returning("id")
    .execute();
  return rows.map(({ id }) => id);
}

export async function releaseClaim(
  db: Kysely<Schema>,
  id: RunId,
  { epoch, now }: { readonly epoch: number; readonly now: number },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("run")
    .set({ state: "queued", worker: null, claim_expires_at: null })
    .where("id", "=", id)
    .where("state", "=", "claimed")
    .where("epoch", "=", epoch)
    .where("claim_expires_at", ">", now)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function listAdrift(
  db: Kysely<Schema>,
  { now, queuedBefore }: { readonly now: number; readonly queuedBefore: number },
): Promise<readonly RunRecord[]> {
  const rows = await selectRuns(db)
    .where("run.state", "in", ["queued", ...HELD])
    .where((run) =>
      run.or([
        run.and([run("run.state", "=", "queued"), run("run.created_at", "<", queuedBefore)]),
        run.and([run("run.state", "in", HELD), isExpired(now)]),
      ]),
    )
    .execute();
  // They are few; sorting them here keeps the query on its index.
  return withAttachments(
    db,
    rows.toSorted((one, other) => one.position - other.position),
  );
}
