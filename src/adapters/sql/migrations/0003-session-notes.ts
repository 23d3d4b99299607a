/** What a session's next run is to be told. A column is looked for, as in 0002. */
import type { Kysely, Migration } from "kysely";

export const sessionNotes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const tables = await db.introspection.getTables();
    const columns = tables.find(({ name }) => name === "session")?.columns ?? [];
    if (columns.some(({ name }) => name === "untold_json")) return;
    // Sessions of before have been used: what their boxes lose is told.
    await db.schema
      .alterTable("session")
      .addColumn("untold_json", "text", (column) => column.defaultTo("[]"))
      .execute();
  },
};
