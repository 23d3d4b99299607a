/** Key-values of scopes in SQL (runs §16). */
import { type Kysely, sql } from "kysely";
import type { StateEntry, StatePlace, StateSize, StateStore } from "../../ports/state-store.js";
import type { Schema } from "./schema.js";
import type { SqlDatabase } from "./sql-database.js";

export class SqlStateStore implements StateStore {
  readonly #deps: { readonly database: SqlDatabase };

  constructor(deps: { readonly database: SqlDatabase }) {
    this.#deps = deps;
  }

  async get(place: StatePlace, key: string): Promise<string | null> {
    const row = await this.#db
      .selectFrom("state")
      .select("value_json")
      .where("tenant", "=", place.tenant)
      .where("scope_key", "=", place.scopeKey)
      .where("key", "=", key)
      .executeTakeFirst();
    return row?.value_json ?? null;
  }

  async getAll(place: StatePlace, keys: readonly string[]): Promise<readonly StateEntry[]> {
    if (keys.length === 0) return [];
    const rows = await this.#db
      .selectFrom("state")
      .select(["key", "value_json"])
      .where("tenant", "=", place.tenant)
      .where("scope_key", "=", place.scopeKey)
      .where("key", "in", keys)
      .orderBy("key")
      .execute();
    return rows.map(({ key, value_json: json }) => ({ key, json }));
  }

  async set(place: StatePlace, { key, json }: StateEntry, updatedAt: number): Promise<void> {
    const value = { value_json: json, size_bytes: Buffer.byteLength(json), updated_at: updatedAt };
    await this.#db
      .insertInto("state")
      .values({ tenant: place.tenant, scope_key: place.scopeKey, key, ...value })
      .onConflict((conflict) => conflict.columns(["tenant", "scope_key", "key"]).doUpdateSet(value))
      .execute();
  }

  async list(
    place: StatePlace,
    { prefix, limit }: { readonly prefix: string; readonly limit: number },
  ): Promise<readonly StateSize[]> {
    const rows = await this.#db
      .selectFrom("state")
      .select(["key", "size_bytes"])
      .where("tenant", "=", place.tenant)
      .where("scope_key", "=", place.scopeKey)
      .where("key", ">=", prefix)
      .where(sql`substr(key, 1, length(${prefix}))`, "=", prefix)
      .orderBy("key")
      .limit(limit)
      .execute();
    return rows.map(({ key, size_bytes: sizeBytes }) => ({ key, sizeBytes }));
  }

  async delete(place: StatePlace, key: string): Promise<boolean> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("state")
      .where("tenant", "=", place.tenant)
      .where("scope_key", "=", place.scopeKey)
      .where("key", "=", key)
      .executeTakeFirst();
    return numDeletedRows > 0n;
  }

  get #db(): Kysely<Schema> {
    return this.#deps.database.db;
  }
}
