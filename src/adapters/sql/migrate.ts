/** Brings a database to the schema of this version. */
import { type Kysely, type Migration, Migrator } from "kysely";
import { ServiceError } from "../../domain/errors.js";
import { first } from "./migrations/0001-first.js";
import { keyframes } from "./migrations/0002-keyframes.js";
import { sessionNotes } from "./migrations/0003-session-notes.js";
import { state } from "./migrations/0004-state.js";
import { events } from "./migrations/0005-events.js";
import { ledger } from "./migrations/0006-ledger.js";
import { webhooks } from "./migrations/0007-webhooks.js";
import { grants } from "./migrations/0008-grants.js";

/** In order of their names; a name that is out in the world never changes. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  "0001-first": first,
  "0002-keyframes": keyframes,
  "0003-session-notes": sessionNotes,
  "0004-state": state,
  "0005-events": events,
  "0006-ledger": ledger,
  "0007-webhooks": webhooks,
  "0008-grants": grants,
};

/** @throws ServiceError `internal` when a migration fails, or when the database was written by a newer version */
export async function migrate<Schema>(db: Kysely<Schema>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } });
  const { error, results } = await migrator.migrateToLatest();
  if (error === undefined) return;
  const failed = results?.find(({ status }) => status === "Error")?.migrationName;
  throw new ServiceError(
    "internal",
    failed === undefined
      ? "The database could not be brought to this version's schema."
      : `The database migration ${failed} failed.`,
    {
      hint: "Was the database written by a newer version? Start that version, or restore a backup.",
      cause: error,
    },
  );
}
