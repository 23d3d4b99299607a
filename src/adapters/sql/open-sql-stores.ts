/** All record stores over one database, whose schema is brought up to date first. */
import type { EventStore } from "../../ports/event-store.js";
import type { FileStore } from "../../ports/file-store.js";
import type { GrantStore } from "../../ports/grant-store.js";
import type { IdempotencyStore } from "../../ports/idempotency-store.js";
import type { RunStore } from "../../ports/run-store.js";
import type { SessionStore } from "../../ports/session-store.js";
import type { StateStore } from "../../ports/state-store.js";
import type { SteeringStore } from "../../ports/steering-store.js";
import type { TranscriptStore } from "../../ports/transcript-store.js";
import type { ReceiversOf, WebhookOutbox } from "../../ports/webhook-outbox.js";
import { migrate } from "./migrate.js";
import type { SqlDatabase } from "./sql-database.js";
import { SqlEventStore } from "./sql-event-store.js";
import { SqlFileStore } from "./sql-file-store.js";
import { SqlGrantStore } from "./sql-grant-store.js";
import { SqlIdempotencyStore } from "./sql-idempotency-store.js";
import { SqlRunStore } from "./sql-run-store.js";
import { SqlSessionStore } from "./sql-session-store.js";
import { SqlStateStore } from "./sql-state-store.js";
import { SqlSteeringStore } from "./sql-steering-store.js";
import { SqlTranscriptStore } from "./sql-transcript-store.js";
import { SqlWebhookOutbox } from "./sql-webhook-outbox.js";

export interface SqlStores extends AsyncDisposable {
  readonly runs: RunStore;
  readonly sessions: SessionStore;
  readonly transcripts: TranscriptStore;
  readonly eventRecords: EventStore;
  readonly files: FileStore;
  readonly idempotency: IdempotencyStore;
  readonly steering: SteeringStore;
  /** No other process works with this database while it is open. */
  readonly isExclusive: boolean;
  readonly state: StateStore;
  readonly webhooks: WebhookOutbox;
  readonly grantRevisions: GrantStore;
  /** Asks the database for an answer, for `/readyz` (api §7). @throws whatever the database says */
  ping(): Promise<void>;
}

/**
 * Takes the database over: it is closed with the stores, and also when it cannot be migrated.
 * @param receiversOf who is told of events by webhooks; nobody if not given
 * @throws ServiceError `internal` when the schema cannot be brought up to date
 */
export async function openSqlStores(database: SqlDatabase, receiversOf?: ReceiversOf): Promise<SqlStores> {
  try {
    await migrate(database.db);
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
  return {
    runs: new SqlRunStore({ database, receiversOf }),
    sessions: new SqlSessionStore({ database }),
    transcripts: new SqlTranscriptStore({ database }),
    eventRecords: new SqlEventStore({ database }),
    files: new SqlFileStore({ database }),
    idempotency: new SqlIdempotencyStore({ database }),
    steering: new SqlSteeringStore({ database }),
    isExclusive: database.isExclusive,
    state: new SqlStateStore({ database }),
    webhooks: new SqlWebhookOutbox({ database }),
    grantRevisions: new SqlGrantStore({ database }),
    ping: async () => {
      await database.db.selectFrom("counter").select("name").limit(1).execute();
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
