import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlStores, type SqlStores } from "../../../../src/adapters/sql/open-sql-stores.js";
import { openSqlite } from "../../../../src/adapters/sqlite/open-sqlite.js";
import type { ReceiversOf } from "../../../../src/ports/webhook-outbox.js";
import { describeEventStore } from "../../../contracts/event-store.js";
import { describeFileStore } from "../../../contracts/file-store.js";
import { describeGrantStore } from "../../../contracts/grant-store.js";
import { describeIdempotencyStore } from "../../../contracts/idempotency-store.js";
import { describeRunStore } from "../../../contracts/run-store.js";
import { describeSessionStore } from "../../../contracts/session-store.js";
import { describeStateStore } from "../../../contracts/state-store.js";
import { describeSteeringStore } from "../../../contracts/steering-store.js";
import { describeTranscriptStore } from "../../../contracts/transcript-store.js";
import { describeWebhookOutbox } from "../../../contracts/webhook-outbox.js";
import { type Opened, opened } from "../../../support/opened.js";

async function inMemory<Store>(
  pick: (stores: SqlStores) => Store,
  receiversOf?: ReceiversOf,
): Promise<Opened<Store>> {
  const stores = await openSqlStores(openSqlite("sqlite::memory:"), receiversOf);
  return opened(pick(stores), () => stores[Symbol.asyncDispose]());
}

async function inFile<Store>(
  pick: (stores: SqlStores) => Store,
  receiversOf?: ReceiversOf,
): Promise<Opened<Store>> {
  const folder = await mkdtemp(join(tmpdir(), "berth-sqlite-"));
  const stores = await openSqlStores(openSqlite(`sqlite:${join(folder, "berth.db")}`), receiversOf);
  return opened(pick(stores), async () => {
    await stores[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
}

for (const { name, open } of [
  { name: "SQLite in memory", open: inMemory },
  { name: "SQLite in a file", open: inFile },
]) {
  describeRunStore(name, () => open((stores) => stores.runs));
  describeSessionStore(name, () => open((stores) => stores.sessions));
  describeSteeringStore(name, () => open((stores) => stores));
  describeTranscriptStore(name, () => open((stores) => stores.transcripts));
  describeEventStore(name, () => open((stores) => stores.eventRecords));
  describeFileStore(name, () => open((stores) => stores));
  describeGrantStore(name, () => open((stores) => stores.grantRevisions));
  describeIdempotencyStore(name, () => open((stores) => stores.idempotency));
  describeStateStore(name, () => open((stores) => stores.state));
  describeWebhookOutbox(name, (receiversOf) => open((stores) => stores, receiversOf));
}
