import Database from "better-sqlite3";
import { Kysely, type LogEvent, SqliteDialect } from "kysely";
import { describe, expect, it } from "vitest";
import { openSqlStores, type SqlStores } from "../../../../src/adapters/sql/open-sql-stores.js";
import type { Schema } from "../../../../src/adapters/sql/schema.js";
import {
  aFile,
  anEventRecord,
  anIdempotencyRecord,
  anOutcome,
  aRun,
  aSession,
  aTranscriptItem,
} from "../../../support/records.js";

const event = { type: "run.started" as const, data: {}, timestamp: "2026-01-01T00:00:00.000Z" };
const place = { tenant: "main", scopeKey: "runner:1" };
const backward = { direction: "backward" as const, from: 5, limit: 9 };

const worker = { worker: "one", now: 1, expiresAt: 2 };
async function removeSilent({ transcripts }: SqlStores): Promise<void> {
  await transcripts.append(aTranscriptItem());
  await transcripts.removeSilent(9_000, { after: { tenant: "", conversation: "" }, limit: 9 });
}

const offered = { message: aRun({ id: "run_2" }), text: "Hi", runId: "run_1" as const, limit: 9 };

async function pullOne({ runs, steering }: SqlStores): Promise<void> {
  await runs.create(aRun());
  await steering.offer(offered);
  await steering.pull("run_1", { epoch: 0, limit: 9, now: 1, before: null });
  await runs.finish("run_1", anOutcome(), () => event);
}

const scope = { tenant: "main", conversation: "conversation-1" };

async function readInsideText({ runs }: SqlStores): Promise<void> {
  const data = { chunk: { role: "assistant", content: "x".repeat(999), is_final: false } };
  await runs.create(aRun());
  for (let i = 0; i < 3; i += 1) await runs.appendEvent("run_1", { ...event, type: "message.delta", data });
  await runs.eventsAfter("run_1", 1, 9);
}

/** Everything the service asks for while it runs; what it asks at start (`listAll`, `listOpen`) may read and sort more. */
const CALLS: readonly [string, (stores: SqlStores) => Promise<unknown>][] = [
  ["runs.create", ({ runs }) => runs.create(aRun({ attachments: [], attachmentSources: [] }))],
  ["runs.get", ({ runs }) => runs.get("main", "run_1")],
  ["runs.list", ({ runs }) => runs.list("main", { limit: 9, after: "run_1" })],
  ["runs.list by session", ({ runs }) => runs.list("main", { limit: 9, session: "ses_1" })],
  ["runs.list by chat", ({ runs }) => runs.list("main", { limit: 9, chat: "person:42" })],
  [
    "runs.list by conversation",
    ({ runs }) => runs.list("main", { limit: 9, conversation: "c", runner: "r" }),
  ],
  ["runs.list by state", ({ runs }) => runs.list("main", { limit: 9, states: ["running"] })],
  ["runs.listChats", ({ runs }) => runs.listChats("main", "ses_1", 9)],
  ["runs.update", ({ runs }) => runs.update("run_1", { state: "running", attachments: [] })],
  ["runs.appendEvent", ({ runs }) => runs.appendEvent("run_1", event)],
  ["runs.eventsAfter", ({ runs }) => runs.eventsAfter("run_1", 0, 9)],
  ["runs.eventsAfter inside a text", readInsideText],
  ["runs.finish", ({ runs }) => runs.finish("run_1", anOutcome(), () => event)],
  ["runs.mergeMetadata", ({ runs }) => runs.mergeMetadata("run_1", { a: 1 })],
  ["runs.claim", ({ runs }) => runs.claim("run_1", worker)],
  ["runs.renew", ({ runs }) => runs.renew(worker)],
  ["runs.release", ({ runs }) => runs.release("run_1", 1, 1)],
  ["runs.listAdrift", ({ runs }) => runs.listAdrift(1, 1)],
  ["steering.offer", ({ steering }) => steering.offer(offered)],
  ["steering.get", ({ steering }) => steering.get("main", "run_2")],
  ["steering.listByRun", ({ steering }) => steering.listByRun("main", "run_1")],
  ["steering.pull", pullOne],
  ["steering.markNotAnswered", ({ steering }) => steering.markNotAnswered(["run_2"], 1)],
  ["steering.listAudit", ({ steering }) => steering.listAudit("main", "run_1")],
  ["sessions.findOrCreate", ({ sessions }) => sessions.findOrCreate(aSession())],
  ["sessions.list", ({ sessions }) => sessions.list("main", { limit: 9, after: "ses_1" })],
  ["sessions.update", ({ sessions }) => sessions.update("ses_1", { prepared: true })],
  ["transcripts.append", ({ transcripts }) => transcripts.append(aTranscriptItem())],
  ["transcripts.page", ({ transcripts }) => transcripts.page("main", "conversation-1", backward)],
  ["transcripts.unansweredCalls", ({ transcripts }) => transcripts.unansweredCalls("run_1")],
  ["eventRecords.append", ({ eventRecords }) => eventRecords.append(anEventRecord())],
  ["eventRecords.get", ({ eventRecords }) => eventRecords.get(scope, "host:1")],
  ["eventRecords.page", ({ eventRecords }) => eventRecords.page(scope, backward)],
  ["eventRecords.removeOlderThan", ({ eventRecords }) => eventRecords.removeOlderThan(2_000, 9)],
  ["runs.removeEnded", ({ runs }) => runs.removeEnded(1, 9)],
  ["transcripts.removeSilent", removeSilent],
  ["idempotency.removeExpired", ({ idempotency }) => idempotency.removeExpired(1, 9)],
  ["files.register", ({ files }) => files.register([aFile()])],
  ["files.list", ({ files }) => files.list("main", { limit: 9, after: "file_1" })],
  ["files.list by purpose", ({ files }) => files.list("main", { limit: 9, purpose: "delivery" })],
  ["files.listByRun", ({ files }) => files.listByRun("main", "run_1")],
  ["files.listOlderThan", ({ files }) => files.listOlderThan(2_000, 9)],
  ["files.isReferenced", ({ files }) => files.isReferenced("b".repeat(64))],
  ["state.get", ({ state }) => state.get(place, "a")],
  ["state.getAll", ({ state }) => state.getAll(place, ["a", "b"])],
  ["state.set", ({ state }) => state.set(place, { key: "a", json: "1" }, 1_000)],
  ["state.list", ({ state }) => state.list(place, { prefix: "a", limit: 9 })],
  ["state.delete", ({ state }) => state.delete(place, "a")],
  ["idempotency.claim", ({ idempotency }) => idempotency.claim(anIdempotencyRecord(), 0)],
  ["idempotency.replace", ({ idempotency }) => idempotency.replace(anIdempotencyRecord(), "run_1")],
];

describe("every query of the stores", () => {
  it.each(CALLS)("is served by an index: %s", async (_name, call) => {
    const raw = new Database(":memory:");
    const queries: LogEvent["query"][] = [];
    const db = new Kysely<Schema>({
      dialect: new SqliteDialect({ database: raw }),
      log: ({ query }) => void queries.push(query),
    });
    await using stores = await openSqlStores({
      db,
      isExclusive: true,
      relaxed: (work) => db.transaction().execute(work),
      [Symbol.asyncDispose]: () => db.destroy(),
    });
    queries.length = 0;
    await call(stores);
    const plans = queries
      .filter((query) => /^(select|update|insert|delete)/.test(query.sql))
      .flatMap((query) =>
        raw
          .prepare<unknown[], { detail: string }>(`explain query plan ${query.sql}`)
          .all(...query.parameters),
      )
      .map(({ detail }) => detail);
    expect(plans.filter((detail) => /^SCAN|TEMP B-TREE/.test(detail))).toEqual([]);
    expect(queries.length).toBeGreaterThan(0);
  });
});
