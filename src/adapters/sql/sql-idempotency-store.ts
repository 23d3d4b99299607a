/** Idempotency keys in SQL (api §1.5). */
import type { Insertable, Kysely } from "kysely";
import type { RunId } from "../../domain/ids.js";
import type { IdempotencyRecord, IdempotencyStore } from "../../ports/idempotency-store.js";
import type { IdempotencyKeyTable, Schema } from "./schema.js";
import type { SqlDatabase } from "./sql-database.js";

export class SqlIdempotencyStore implements IdempotencyStore {
  readonly #deps: { readonly database: SqlDatabase };

  constructor(deps: { readonly database: SqlDatabase }) {
    this.#deps = deps;
  }

  async claim(record: IdempotencyRecord, expiredBefore: number): Promise<IdempotencyRecord> {
    return this.#deps.database.db.transaction().execute(async (transaction) => {
      // Expired keys of everybody go, or the table would grow for ever.
      await transaction.deleteFrom("idempotency_key").where("created_at", "<", expiredBefore).execute();
      await transaction
        .insertInto("idempotency_key")
        .values(toRow(record))
        .onConflict((conflict) => conflict.columns(["tenant", "key"]).doNothing())
        .execute();
      return readStanding(transaction, record);
    });
  }

  async removeExpired(expiredBefore: number, limit: number): Promise<number> {
    const { db } = this.#deps.database;
    const expired = await db
      .selectFrom("idempotency_key")
      .select(["tenant", "key"])
      .where("created_at", "<", expiredBefore)
      .limit(limit)
      .execute();
    for (const { tenant, key } of expired)
      await db
        .deleteFrom("idempotency_key")
        .where("tenant", "=", tenant)
        .where("key", "=", key)
        .where("created_at", "<", expiredBefore)
        .execute();
    return expired.length;
  }

  async replace(record: IdempotencyRecord, old: RunId): Promise<IdempotencyRecord> {
    const row = toRow(record);
    return this.#deps.database.db.transaction().execute(async (transaction) => {
      await transaction
        .insertInto("idempotency_key")
        .values(row)
        .onConflict((conflict) =>
          conflict
            .columns(["tenant", "key"])
            .doUpdateSet({ body_hash: row.body_hash, run_id: row.run_id, created_at: row.created_at })
            .where("idempotency_key.run_id", "=", old),
        )
        .execute();
      return readStanding(transaction, record);
    });
  }
}

async function readStanding(db: Kysely<Schema>, record: IdempotencyRecord): Promise<IdempotencyRecord> {
  const row = await db
    .selectFrom("idempotency_key")
    .selectAll()
    .where("tenant", "=", record.tenant)
    .where("key", "=", record.key)
    .executeTakeFirstOrThrow();
  return {
    tenant: row.tenant,
    key: row.key,
    bodyHash: row.body_hash,
    runId: row.run_id,
    createdAt: row.created_at,
  };
}

function toRow(record: IdempotencyRecord): Insertable<IdempotencyKeyTable> {
  return {
    tenant: record.tenant,
    key: record.key,
    body_hash: record.bodyHash,
    run_id: record.runId,
    created_at: record.createdAt,
  };
}
