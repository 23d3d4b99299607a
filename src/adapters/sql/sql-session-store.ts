/** Session records in SQL (design §1.3). */
import type { Insertable, Kysely, Selectable } from "kysely";
import { z } from "zod";
import { type SessionId, sessionIdSchema } from "../../domain/ids.js";
import { POOL_TENANT, type SessionRecord } from "../../domain/session.js";
import type {
  SessionChange,
  SessionOwner,
  SessionPage,
  SessionStore,
  SessionUse,
} from "../../ports/session-store.js";
import { readNullableJson, writeNullableJson } from "./json-column.js";
import type { Schema, SessionTable } from "./schema.js";
import { nextPosition, type SqlDatabase } from "./sql-database.js";

const untoldSchema = z.array(z.string());

export class SqlSessionStore implements SessionStore {
  readonly #deps: { readonly database: SqlDatabase };

  constructor(deps: { readonly database: SqlDatabase }) {
    this.#deps = deps;
  }

  async findOrCreate(record: SessionRecord): Promise<SessionRecord> {
    const standing = await this.findByIdentity(record.tenant, record.identity);
    if (standing !== null) return standing;
    return this.#db.transaction().execute(async (transaction) => {
      const position = await nextPosition(transaction, "session");
      await transaction
        .insertInto("session")
        .values(toRow(record, position))
        .onConflict((conflict) => conflict.columns(["tenant", "identity"]).doNothing())
        .execute();
      const row = await transaction
        .selectFrom("session")
        .selectAll()
        .where("tenant", "=", record.tenant)
        .where("identity", "=", record.identity)
        .executeTakeFirstOrThrow();
      return toRecord(row);
    });
  }

  async adopt(id: SessionId, by: SessionOwner): Promise<SessionRecord | null> {
    return this.#db.transaction().execute(async (transaction) => {
      const position = await nextPosition(transaction, "session");
      const standing = await transaction
        .selectFrom("session")
        .selectAll()
        .where("tenant", "=", by.tenant)
        .where("identity", "=", by.identity)
        .executeTakeFirst();
      if (standing !== undefined) return toRecord(standing);
      const row = await transaction
        .updateTable("session")
        // A new session: lists show it as one.
        .set({ position, ...toOwnerColumns(by) })
        .where("id", "=", id)
        .where("tenant", "=", POOL_TENANT)
        .returningAll()
        .executeTakeFirst();
      return row === undefined ? null : toRecord(row);
    });
  }

  async get(tenant: string, id: SessionId): Promise<SessionRecord | null> {
    const row = await this.#db
      .selectFrom("session")
      .selectAll()
      .where("id", "=", id)
      .where("tenant", "=", tenant)
      .executeTakeFirst();
    return row === undefined ? null : toRecord(row);
  }

  async findByIdentity(tenant: string, identity: string): Promise<SessionRecord | null> {
    const row = await this.#db
      .selectFrom("session")
      .selectAll()
      .where("tenant", "=", tenant)
      .where("identity", "=", identity)
      .executeTakeFirst();
    return row === undefined ? null : toRecord(row);
  }

  async update(id: SessionId, change: SessionChange): Promise<SessionRecord | null> {
    const row = await this.#db
      .updateTable("session")
      // Setting the id to itself makes a statement of a change that names nothing.
      .set({ id, ...toChangedColumns(change) })
      .where("id", "=", id)
      .returningAll()
      .executeTakeFirst();
    return row === undefined ? null : toRecord(row);
  }

  async noteUse(id: SessionId, { lastUsedAt, untold }: SessionUse): Promise<void> {
    const told = untold === undefined ? {} : toChangedColumns({ untold });
    const noted = { last_used_at: lastUsedAt, ...told };
    await this.#deps.database.relaxed((transaction) =>
      transaction.updateTable("session").set(noted).where("id", "=", id).execute(),
    );
  }

  async list(tenant: string, page: SessionPage): Promise<readonly SessionRecord[]> {
    let query = this.#db.selectFrom("session").selectAll().where("tenant", "=", tenant);
    if (page.after !== null) {
      const after = sessionIdSchema.safeParse(page.after);
      if (!after.success) return [];
      query = query.where("position", "<", (expression) =>
        expression
          .selectFrom("session as last")
          .select("last.position")
          .where("last.id", "=", after.data)
          .where("last.tenant", "=", tenant),
      );
    }
    const rows = await query.orderBy("position", "desc").limit(page.limit).execute();
    return rows.map(toRecord);
  }

  async listAll(): Promise<readonly SessionRecord[]> {
    const rows = await this.#db.selectFrom("session").selectAll().orderBy("position").execute();
    return rows.map(toRecord);
  }

  async remove(id: SessionId): Promise<void> {
    await this.#db.deleteFrom("session").where("id", "=", id).execute();
  }

  get #db(): Kysely<Schema> {
    return this.#deps.database.db;
  }
}

function toOwnerColumns(by: SessionOwner) {
  return {
    tenant: by.tenant,
    identity: by.identity,
    reuse_key: by.key,
    created_at: by.createdAt,
    last_used_at: by.lastUsedAt,
  };
}

function toRow(record: SessionRecord, position: number): Insertable<SessionTable> {
  return {
    id: record.id,
    position,
    ...toOwnerColumns(record),
    engine: record.engine,
    uid: record.uid,
    volume: record.volume,
    container: record.container,
    prepared: record.prepared ? 1 : 0,
    settings: record.settings,
    untold_json: writeNullableJson(record.untold),
  };
}

function toChangedColumns(change: SessionChange): Partial<Insertable<SessionTable>> {
  return {
    ...(change.uid === undefined ? {} : { uid: change.uid }),
    ...(change.container === undefined ? {} : { container: change.container }),
    ...(change.prepared === undefined ? {} : { prepared: change.prepared ? 1 : 0 }),
    ...(change.settings === undefined ? {} : { settings: change.settings }),
    ...(change.untold === undefined ? {} : { untold_json: writeNullableJson(change.untold) }),
  };
}

function toRecord(row: Selectable<SessionTable>): SessionRecord {
  return {
    id: row.id,
    tenant: row.tenant,
    identity: row.identity,
    key: row.reuse_key,
    engine: row.engine,
    uid: row.uid,
    volume: row.volume,
    container: row.container,
    prepared: row.prepared === 1,
    settings: row.settings,
    untold: readNullableJson(untoldSchema, row.untold_json),
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}
