/** The highest revision seen of every grant. Every statement may be repeated: see 0001. */
import type { Kysely, Migration } from "kysely";

export const grants: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable("grant_revision")
      .ifNotExists()
      .addColumn("tenant", "text", (column) => column.notNull())
      .addColumn("grant_id", "text", (column) => column.notNull())
      .addColumn("revision", "bigint", (column) => column.notNull())
      .addColumn("expires_at", "bigint", (column) => column.notNull())
      .addColumn("boxes", "bigint", (column) => column.notNull())
      .addColumn("revoked", "integer", (column) => column.notNull())
      .addPrimaryKeyConstraint("grant_revision_place", ["tenant", "grant_id"])
      .execute();
  },
};
