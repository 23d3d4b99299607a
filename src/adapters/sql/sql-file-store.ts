/** Records of files in SQL (box §9, api §3). */
import type { Insertable, Kysely, Selectable } from "kysely";
import type { DeliveryState, FileRecord } from "../../domain/delivery.js";
import type { FileId, RunId } from "../../domain/ids.js";
import type { FilePage, FileStore } from "../../ports/file-store.js";
import type { FileTable, Schema } from "./schema.js";
import { nextPosition, type SqlDatabase } from "./sql-database.js";

export class SqlFileStore implements FileStore {
  readonly #deps: { readonly database: SqlDatabase };

  constructor(deps: { readonly database: SqlDatabase }) {
    this.#deps = deps;
  }

  async register(records: readonly FileRecord[]): Promise<void> {
    if (records.length === 0) return;
    await this.#db.transaction().execute(async (transaction) => {
      const first = await nextPosition(transaction, "file", records.length);
      for (const [index, record] of records.entries())
        await transaction
          .insertInto("file")
          .values(toRow(record, first + index))
          .execute();
    });
  }

  async get(tenant: string, id: FileId): Promise<FileRecord | null> {
    const row = await this.#db
      .selectFrom("file")
      .selectAll()
      .where("id", "=", id)
      .where("tenant", "=", tenant)
      .executeTakeFirst();
    return row === undefined ? null : toRecord(row);
  }

  async listByRun(tenant: string, runId: RunId): Promise<readonly FileRecord[]> {
    const rows = await this.#db
      .selectFrom("file")
      .selectAll()
      .where("tenant", "=", tenant)
      .where("run_id", "=", runId)
      .orderBy("position")
      .execute();
    return rows.map(toRecord);
  }

  async list(tenant: string, page: FilePage): Promise<readonly FileRecord[]> {
    const { after, purpose } = page;
    let query = this.#db.selectFrom("file").selectAll().where("tenant", "=", tenant);
    if (purpose !== undefined) query = query.where("purpose", "=", purpose);
    if (after !== undefined)
      query = query.where("position", "<", (expression) =>
        expression
          .selectFrom("file as last")
          .select("last.position")
          .where("last.id", "=", after)
          .where("last.tenant", "=", tenant),
      );
    const rows = await query.orderBy("position", "desc").limit(page.limit).execute();
    return rows.map(toRecord);
  }

  async setState(id: FileId, state: DeliveryState, from?: DeliveryState): Promise<void> {
    const change = this.#db.updateTable("file").set({ state }).where("id", "=", id);
    await (from === undefined ? change : change.where("state", "=", from)).execute();
  }

  async remove(tenant: string, id: FileId): Promise<boolean> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("file")
      .where("id", "=", id)
      .where("tenant", "=", tenant)
      .executeTakeFirst();
    return numDeletedRows > 0n;
  }

  async isReferenced(sha256: string): Promise<boolean> {
    const db = this.#db;
    const file = db.selectFrom("file").select("id").where("sha256", "=", sha256).limit(1);
    if ((await file.executeTakeFirst()) !== undefined) return true;
    const attachment = db.selectFrom("attachment").select("idx").where("sha256", "=", sha256).limit(1);
    return (await attachment.executeTakeFirst()) !== undefined;
  }

  async listOlderThan(createdBefore: number, limit: number): Promise<readonly FileRecord[]> {
    const rows = await this.#db
      .selectFrom("file")
      .selectAll()
      .where("created_at", "<", createdBefore)
      .orderBy("created_at")
      .orderBy("position")
      .limit(limit)
      .execute();
    return rows.map(toRecord);
  }

  get #db(): Kysely<Schema> {
    return this.#deps.database.db;
  }
}

function toRow(record: FileRecord, position: number): Insertable<FileTable> {
  return {
    id: record.id,
    position,
    tenant: record.tenant,
    run_id: record.runId,
    purpose: record.purpose,
    name: record.name,
    kind: record.kind,
    mime_type: record.mimeType,
    size_bytes: record.sizeBytes,
    sha256: record.sha256,
    source_path: record.sourcePath,
    state: record.state,
    created_at: record.createdAt,
  };
}

function toRecord(row: Selectable<FileTable>): FileRecord {
  return {
    id: row.id,
    tenant: row.tenant,
    runId: row.run_id,
    purpose: row.purpose,
    name: row.name,
    kind: row.kind,
    mimeType: row.mime_type,
    sizeBytes: row.size_bytes,
    sha256: row.sha256,
    sourcePath: row.source_path,
    state: row.state,
    createdAt: row.created_at,
  };
}
