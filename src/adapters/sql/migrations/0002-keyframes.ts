/** Text events that keep only what they add. A column cannot be added twice, so it is looked for: see 0001. */
import type { Kysely, Migration } from "kysely";

export const keyframes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const tables = await db.introspection.getTables();
    const columns = tables.find(({ name }) => name === "run_event")?.columns ?? [];
    if (columns.some(({ name }) => name === "keyframe")) return;
    await db.schema.alterTable("run_event").addColumn("keyframe", "bigint").execute();
  },
};
