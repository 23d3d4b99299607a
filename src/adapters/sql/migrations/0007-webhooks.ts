/** What webhook receivers are still to be told. See 0001. */
import type { Kysely, Migration } from "kysely";

export const webhooks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable("webhook_entry")
      .ifNotExists()
      .addColumn("receiver", "text", (column) => column.notNull())
      .addColumn("run_id", "text", (column) => column.notNull().references("run.id").onDelete("cascade"))
      .addColumn("sequence", "integer", (column) => column.notNull())
      .addColumn("tenant", "text", (column) => column.notNull())
      .addColumn("attempts", "integer", (column) => column.notNull())
      .addColumn("is_under_way", "integer", (column) => column.notNull())
      .addColumn("due_at", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("webhook_entry_key", ["receiver", "run_id", "sequence"])
      .execute();
    await db.schema
      .createIndex("webhook_entry_by_receiver_due_at")
      .ifNotExists()
      .on("webhook_entry")
      .columns(["receiver", "due_at"])
      .execute();
    await db.schema
      .createIndex("webhook_entry_by_run_id")
      .ifNotExists()
      .on("webhook_entry")
      .column("run_id")
      .execute();
  },
};
