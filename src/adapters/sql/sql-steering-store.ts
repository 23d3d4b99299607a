/** Messages that runs absorb, in SQL (runs §14). */
import type { Kysely } from "kysely";
import type { RunId } from "../../domain/ids.js";
import { isTerminal } from "../../domain/run.js";
import { auditTypeSchema } from "../../domain/steering.js";
import type { RunRecord } from "../../ports/run-store.js";
import type {
  AuditRecord,
  OfferedMessage,
  PulledMessages,
  PullRequest,
  SteeringItem,
  SteeringStore,
} from "../../ports/steering-store.js";
import { appendEvent, insertRun } from "./run-queries.js";
import type { Schema } from "./schema.js";
import { nextPosition, type SqlDatabase } from "./sql-database.js";
import {
  audit,
  listWaiting,
  moveItem,
  removeMessageRun,
  toItem,
  toTranscriptItem,
} from "./steering-queries.js";
import { insertTranscriptItem } from "./transcript-queries.js";

export class SqlSteeringStore implements SteeringStore {
  readonly #deps: { readonly database: SqlDatabase };

  constructor(deps: { readonly database: SqlDatabase }) {
    this.#deps = deps;
  }

  async offer({ message, text, runId, limit }: OfferedMessage): Promise<"waiting" | "full" | "ended"> {
    return this.#db.transaction().execute(async (transaction) => {
      if ((await readOpen(transaction, runId)) === null) return "ended";
      if ((await listWaiting(transaction, runId, limit)).length >= limit) return "full";
      await insertRun(transaction, { ...message, state: "created" });
      const { id, tenant, createdAt } = message;
      const position = await nextPosition(transaction, "steering_item");
      const times = { created_at: createdAt, changed_at: createdAt };
      await transaction
        .insertInto("steering_item")
        .values({ id, position, tenant, run_id: runId, place: "waiting", text, ...times })
        .execute();
      await audit(transaction, { id, tenant, runId }, { type: "steering.queued", now: createdAt });
      return "waiting";
    });
  }

  async get(tenant: string, id: RunId): Promise<SteeringItem | null> {
    const row = await this.#db
      .selectFrom("steering_item")
      .selectAll()
      .where("id", "=", id)
      .where("tenant", "=", tenant)
      .executeTakeFirst();
    return row === undefined ? null : toItem(row);
  }

  async listByRun(tenant: string, runId: RunId): Promise<readonly SteeringItem[]> {
    const rows = await this.#db
      .selectFrom("steering_item")
      .selectAll()
      .where("run_id", "=", runId)
      .where("tenant", "=", tenant)
      .execute();
    return rows.toSorted((one, other) => one.position - other.position).map(toItem);
  }

  async pull(runId: RunId, request: PullRequest): Promise<PulledMessages | null> {
    // Most pulls find nothing, and need no transaction for it.
    if ((await listWaiting(this.#db, runId, 1)).length === 0) return { messages: [], sequence: 0 };
    return this.#db.transaction().execute(async (transaction) => {
      const run = await readOpen(transaction, runId);
      if (run?.epoch !== request.epoch) return null;
      const waiting = await listWaiting(transaction, runId, request.limit);
      if (waiting.length > 0 && request.before !== null)
        await insertTranscriptItem(transaction, request.before);
      let sequence = 0;
      for (const item of waiting) sequence = await inject(transaction, item, { run, now: request.now });
      return { messages: waiting.map((item) => injected(item, request.now)), sequence };
    });
  }

  async markNotAnswered(ids: readonly RunId[], now: number): Promise<void> {
    if (ids.length === 0) return;
    await this.#db
      .updateTable("steering_item")
      .set({ place: "not_answered", changed_at: now })
      .where("id", "in", ids)
      .where("place", "=", "queue")
      .execute();
  }

  async listAudit(tenant: string, runId: RunId): Promise<readonly AuditRecord[]> {
    const rows = await this.#db
      .selectFrom("audit")
      .selectAll()
      .where("run_id", "=", runId)
      .where("tenant", "=", tenant)
      .orderBy("position")
      .execute();
    return rows.map((row) => ({
      type: auditTypeSchema.parse(row.type),
      runId: row.run_id,
      subject: row.subject,
      createdAt: row.created_at,
    }));
  }

  get #db(): Kysely<Schema> {
    return this.#deps.database.db;
  }
}

type OpenRun = Pick<RunRecord, "id" | "tenant" | "conversation" | "epoch">;

async function readOpen(db: Kysely<Schema>, id: RunId): Promise<OpenRun | null> {
  const run = await db
    .selectFrom("run")
    .select(["id", "tenant", "conversation", "epoch", "state"])
    .where("id", "=", id)
    .executeTakeFirst();
  return run === undefined || isTerminal(run.state) ? null : run;
}

function injected(item: SteeringItem, changedAt: number): SteeringItem {
  return { ...item, place: "history", changedAt };
}

/** @returns the number of the event that tells of it */
async function inject(
  db: Kysely<Schema>,
  item: SteeringItem,
  { run, now }: { readonly run: OpenRun; readonly now: number },
): Promise<number> {
  await insertTranscriptItem(db, toTranscriptItem(run, item, now));
  await removeMessageRun(db, item.id);
  await moveItem(db, item.id, { place: "history", now });
  await audit(db, item, { type: "steering.injected", now });
  const data = { message_id: item.id, text: item.text };
  const event = { type: "steering.injected" as const, data, timestamp: new Date(now).toISOString() };
  return (await appendEvent(db, run.id, { event, trail: null }))?.stored.sequence ?? 0;
}
