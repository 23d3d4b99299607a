/** All stores in memory, for tests: each passes the contract that the real one passes. */
import { runIdSchema } from "../../domain/ids.js";
import type { Clock } from "../../ports/clock.js";
import type { ReceiversOf } from "../../ports/webhook-outbox.js";
import { MemoryBlobStore } from "./memory-blob-store.js";
import { MemoryEventStore } from "./memory-event-store.js";
import { MemoryFileStore } from "./memory-file-store.js";
import { MemoryGrantStore } from "./memory-grant-store.js";
import { MemoryIdempotencyStore } from "./memory-idempotency-store.js";
import { MemoryRunStore } from "./memory-run-store.js";
import { MemorySessionStore } from "./memory-session-store.js";
import { MemoryStateStore } from "./memory-state-store.js";
import { MemorySteeringStore } from "./memory-steering-store.js";
import { MemoryTranscriptStore } from "./memory-transcript-store.js";
import { MemoryWebhookOutbox } from "./memory-webhook-outbox.js";

export interface MemoryStores {
  readonly runs: MemoryRunStore;
  readonly sessions: MemorySessionStore;
  readonly transcripts: MemoryTranscriptStore;
  readonly eventRecords: MemoryEventStore;
  readonly files: MemoryFileStore;
  readonly idempotency: MemoryIdempotencyStore;
  readonly steering: MemorySteeringStore;
  readonly state: MemoryStateStore;
  readonly grantRevisions: MemoryGrantStore;
  readonly blobs: MemoryBlobStore;
  readonly webhooks: MemoryWebhookOutbox;
}

export function openMemoryStores(deps: {
  readonly clock: Clock;
  /** Who is told of events by webhooks; nobody if not given. */
  readonly receiversOf?: ReceiversOf | undefined;
}): MemoryStores {
  const runs = new MemoryRunStore();
  const webhooks = new MemoryWebhookOutbox({ receiversOf: deps.receiversOf ?? (() => []) });
  runs.tellOfEvents((run, event) => webhooks.note(run, event));
  const transcripts = new MemoryTranscriptStore({
    epochOf: (runId) => runs.find(runIdSchema.parse(runId))?.epoch ?? null,
  });
  return {
    runs,
    webhooks,
    sessions: new MemorySessionStore(),
    transcripts,
    steering: new MemorySteeringStore({ runs, transcripts }),
    eventRecords: new MemoryEventStore(),
    files: new MemoryFileStore({ runs }),
    idempotency: new MemoryIdempotencyStore(),
    state: new MemoryStateStore(),
    grantRevisions: new MemoryGrantStore(),
    blobs: new MemoryBlobStore({ clock: deps.clock }),
  };
}
