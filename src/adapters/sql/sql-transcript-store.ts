/** Message history in SQL (runs §17). */
import type { Kysely, Selectable } from "kysely";
import { findUnansweredCalls, type TranscriptItem } from "../../domain/history.js";
import { messageSchema } from "../../domain/message.js";
import type {
  NewTranscriptItem,
  TranscriptPageRequest,
  TranscriptStore,
} from "../../ports/transcript-store.js";
import { readJson, writeJson } from "./json-column.js";
import type { Schema, TranscriptItemTable } from "./schema.js";
import { nextPosition, type SqlDatabase } from "./sql-database.js";

export class SqlTranscriptStore implements TranscriptStore {
  readonly #deps: { readonly database: SqlDatabase };

  constructor(deps: { readonly database: SqlDatabase }) {
    this.#deps = deps;
  }

  async append(item: NewTranscriptItem): Promise<TranscriptItem> {
    return this.#db.transaction().execute(async (transaction) => {
      const row = {
        tenant: item.tenant,
        conversation: item.conversation,
        sequence: await nextPosition(transaction, "transcript_item"),
        run_id: item.runId,
        event_id: item.eventId,
        message_json: writeJson(item.message),
        partial: item.partial ? (1 as const) : (0 as const),
        created_at: item.createdAt,
      };
      await transaction.insertInto("transcript_item").values(row).execute();
      return toItem(row);
    });
  }

  async page(
    tenant: string,
    conversation: string,
    request: TranscriptPageRequest,
  ): Promise<readonly TranscriptItem[]> {
    const { from, limit } = request;
    const backward = request.direction === "backward";
    let query = this.#db
      .selectFrom("transcript_item")
      .selectAll()
      .where("tenant", "=", tenant)
      .where("conversation", "=", conversation);
    if (from !== null) query = query.where("sequence", backward ? "<" : ">", from);
    const rows = await query
      .orderBy("sequence", backward ? "desc" : "asc")
      .limit(limit)
      .execute();
    return rows.map(toItem);
  }

  async unansweredCalls(runId: string): Promise<readonly { readonly id: string; readonly name: string }[]> {
    const rows = await this.#db
      .selectFrom("transcript_item")
      .select("message_json")
      .where("run_id", "=", runId)
      .orderBy("sequence")
      .execute();
    return findUnansweredCalls(rows.map(({ message_json }) => readJson(messageSchema, message_json)));
  }

  get #db(): Kysely<Schema> {
    return this.#deps.database.db;
  }
}

function toItem(row: Selectable<TranscriptItemTable>): TranscriptItem {
  return {
    sequence: row.sequence,
    run_id: row.run_id,
    event_id: row.event_id,
    message: readJson(messageSchema, row.message_json),
    partial: row.partial === 1,
    created_at: row.created_at,
  };
}
