/** Message history in SQL (runs §17). */
import type { Kysely } from "kysely";
import { findUnansweredCalls, type TranscriptItem } from "../../domain/history.js";
import { messageSchema } from "../../domain/message.js";
import type {
  NewTranscriptItem,
  TranscriptPageRequest,
  TranscriptPlace,
  TranscriptStore,
} from "../../ports/transcript-store.js";
import { readJson } from "./json-column.js";
import type { Schema } from "./schema.js";
import type { SqlDatabase } from "./sql-database.js";
import { insertTranscriptItem, removeSilent, toTranscriptItem } from "./transcript-queries.js";

export class SqlTranscriptStore implements TranscriptStore {
  readonly #deps: { readonly database: SqlDatabase };

  constructor(deps: { readonly database: SqlDatabase }) {
    this.#deps = deps;
  }

  async append(item: NewTranscriptItem): Promise<TranscriptItem> {
    return this.#db.transaction().execute((transaction) => insertTranscriptItem(transaction, item));
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
    return rows.map(toTranscriptItem);
  }

  async removeSilent(
    silentSince: number,
    among: { readonly after: TranscriptPlace | null; readonly limit: number },
  ): Promise<TranscriptPlace | null> {
    return this.#db
      .transaction()
      .execute((transaction) => removeSilent(transaction, { silentSince, ...among }));
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
