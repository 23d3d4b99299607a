/** What webhook receivers are still to be told, in SQL. */
import type { Kysely, Selectable } from "kysely";
import type { RunEvent } from "../../domain/run.js";
import type { ReceiversOf, WebhookEntry, WebhookKey, WebhookOutbox } from "../../ports/webhook-outbox.js";
import type { Schema, WebhookEntryTable } from "./schema.js";
import type { SqlDatabase } from "./sql-database.js";

export class SqlWebhookOutbox implements WebhookOutbox {
  readonly #deps: { readonly database: SqlDatabase };

  constructor(deps: { readonly database: SqlDatabase }) {
    this.#deps = deps;
  }

  async listDue(receiver: string, now: number, limit: number): Promise<readonly WebhookEntry[]> {
    const rows = await this.#db
      .selectFrom("webhook_entry as entry")
      .selectAll()
      .where("receiver", "=", receiver)
      .where("is_under_way", "=", 0)
      .where("due_at", "<=", now)
      .where((row) =>
        row.not(
          row.exists(
            row
              .selectFrom("webhook_entry as earlier")
              .select("earlier.sequence")
              .whereRef("earlier.receiver", "=", "entry.receiver")
              .whereRef("earlier.run_id", "=", "entry.run_id")
              .whereRef("earlier.sequence", "<", "entry.sequence"),
          ),
        ),
      )
      .orderBy("due_at")
      .limit(limit)
      .execute();
    return rows.map(toEntry);
  }

  async begin(key: WebhookKey): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable("webhook_entry")
      .set((row) => ({ attempts: row("attempts", "+", 1), is_under_way: 1 }))
      .where((row) => row.and(toColumns(key)))
      .where("is_under_way", "=", 0)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async postpone(key: WebhookKey, dueAt: number): Promise<void> {
    await this.#db
      .updateTable("webhook_entry")
      .set({ is_under_way: 0, due_at: dueAt })
      .where((row) => row.and(toColumns(key)))
      .execute();
  }

  async remove(key: WebhookKey): Promise<void> {
    await this.#db
      .deleteFrom("webhook_entry")
      .where((row) => row.and(toColumns(key)))
      .execute();
  }

  async listInterrupted(): Promise<readonly WebhookEntry[]> {
    const rows = await this.#db
      .selectFrom("webhook_entry")
      .selectAll()
      .where("is_under_way", "=", 1)
      .execute();
    return rows.map(toEntry);
  }

  async keepOnly(receivers: readonly string[]): Promise<number> {
    const all = this.#db.deleteFrom("webhook_entry");
    const gone = receivers.length === 0 ? all : all.where("receiver", "not in", receivers);
    return Number((await gone.executeTakeFirst()).numDeletedRows);
  }

  get #db(): Kysely<Schema> {
    return this.#deps.database.db;
  }
}

/** Notes a stored event for those who want to be told of it. Call it in the transaction of the event. */
export async function noteForReceivers(
  db: Kysely<Schema>,
  event: RunEvent,
  run: {
    readonly id: WebhookEntry["runId"];
    readonly tenant: string;
    readonly pipeline: string;
    readonly receiversOf: ReceiversOf;
  },
): Promise<void> {
  for (const receiver of run.receiversOf({ type: event.type, pipeline: run.pipeline }))
    await db
      .insertInto("webhook_entry")
      .values({
        receiver,
        run_id: run.id,
        sequence: event.sequence,
        tenant: run.tenant,
        attempts: 0,
        is_under_way: 0,
        due_at: Date.parse(event.timestamp),
      })
      .execute();
}

function toColumns({ receiver, runId, sequence }: WebhookKey) {
  return { receiver, run_id: runId, sequence };
}

function toEntry(row: Selectable<WebhookEntryTable>): WebhookEntry {
  const { receiver, run_id: runId, tenant, sequence, attempts } = row;
  return { receiver, runId, tenant, sequence, attempts };
}
