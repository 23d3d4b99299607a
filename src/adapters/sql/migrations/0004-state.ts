/** Key-values that outlive a run. Every statement may be repeated: see 0001. */
import type { Kysely, Migration } from "kysely";

export const state: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable("state")
      .ifNotExists()
      .addColumn("tenant", "text", (column) => column.notNull())
      .addColumn("scope_key", "text", (column) => column.notNull())
      .addColumn("key", "text", (column) => column.notNull())
      .addColumn("value_json", "text", (column) => column.notNull())
      .addColumn("size_bytes", "bigint", (column) => column.notNull())
      .addColumn("updated_at", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("state_place", ["tenant", "scope_key", "key"])
      .execute();
  },
};
