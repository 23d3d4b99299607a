/** The ledger in SQL (runs §20). */
import type { Kysely } from "kysely";
import type { RunId, SessionId } from "../../domain/ids.js";
import { isTerminal, type RunError, type RunEvent } from "../../domain/run.js";
import type {
  Claimant,
  FinishOptions,
  NewRunEvent,
  RunChange,
  RunChat,
  RunFilter,
  RunOutcome,
  RunRecord,
  RunStore,
} from "../../ports/run-store.js";
import type { ReceiversOf } from "../../ports/webhook-outbox.js";
import { claimRun, listAdrift, releaseClaim, renewClaims } from "./claim-queries.js";
import { writeJson } from "./json-column.js";
import { OpenTrails } from "./open-trails.js";
import {
  appendEvent,
  insertRun,
  OPEN_STATES,
  readEvents,
  readRun,
  releaseAttachments,
  selectRuns,
  withAttachments,
  writeOutcomes,
  writeSources,
} from "./run-queries.js";
import { toChangedColumns, toOutcomeColumns } from "./run-row.js";
import type { Schema } from "./schema.js";
import type { SqlDatabase } from "./sql-database.js";
import { settleWaiting } from "./steering-queries.js";

/** More than run at once; each holds the text of its run, which its recorder holds as well. */
const MAX_TRAILS = 1_000;

export interface SqlRunStoreDeps {
  readonly database: SqlDatabase;
  /** Who is told of events by webhooks; nobody if not given. */
  readonly receiversOf?: ReceiversOf | undefined;
}

export class SqlRunStore implements RunStore {
  readonly #deps: SqlRunStoreDeps;
  readonly #receiversOf: ReceiversOf;
  readonly #trails = new OpenTrails(MAX_TRAILS);

  constructor(deps: SqlRunStoreDeps) {
    this.#deps = deps;
    this.#receiversOf = deps.receiversOf ?? (() => []);
  }

  async create(run: RunRecord): Promise<void> {
    await this.#db.transaction().execute((transaction) => insertRun(transaction, run));
  }

  async get(tenant: string, id: RunId): Promise<RunRecord | null> {
    return readRun(this.#db, id, tenant);
  }

  async list(tenant: string, filter: RunFilter): Promise<readonly RunRecord[]> {
    const { session, chat, conversation, runner, states, after } = filter;
    let query = selectRuns(this.#db).where("run.tenant", "=", tenant);
    if (session !== undefined) query = query.where("run.session_id", "=", session);
    if (chat !== undefined) query = query.where("run.chat_key", "=", chat);
    if (conversation !== undefined) query = query.where("run.conversation", "=", conversation);
    if (runner !== undefined) query = query.where("run.runner", "=", runner);
    if (states !== undefined) query = query.where("run.state", "in", states);
    if (after !== undefined)
      query = query.where("run.position", "<", (expression) =>
        expression
          .selectFrom("run as last")
          .select("last.position")
          .where("last.id", "=", after)
          .where("last.tenant", "=", tenant),
      );
    const rows = await query.orderBy("run.position", "desc").limit(filter.limit).execute();
    return withAttachments(this.#db, rows);
  }

  async listChats(tenant: string, session: SessionId, limit: number): Promise<readonly RunChat[]> {
    return this.#db
      .selectFrom("run")
      .select(["chat_key as chat", "created_at as createdAt"])
      .where("tenant", "=", tenant)
      .where("session_id", "=", session)
      .where("chat_key", "!=", "")
      .orderBy("position", "desc")
      .limit(limit)
      .execute();
  }

  async update(id: RunId, change: RunChange, epoch?: number): Promise<boolean> {
    const columns = toChangedColumns(change);
    return this.#db.transaction().execute(async (transaction) => {
      let changing = transaction
        .updateTable("run")
        // Setting the id to itself makes a statement of a change that names attachments only.
        .set({ id, ...columns })
        .where("id", "=", id)
        .where("state", "in", OPEN_STATES);
      if (epoch !== undefined) changing = changing.where("epoch", "=", epoch);
      const { numUpdatedRows } = await changing.executeTakeFirst();
      if (numUpdatedRows === 0n) return false;
      if (change.attachments !== undefined) await writeOutcomes(transaction, id, change.attachments);
      if (change.attachmentSources !== undefined)
        await writeSources(transaction, id, change.attachmentSources);
      return true;
    });
  }

  async appendEvent(id: RunId, event: NewRunEvent, epoch?: number): Promise<RunEvent | null> {
    const appended = await this.#deps.database.relaxed((transaction) =>
      appendEvent(transaction, id, {
        event,
        trail: this.#trails.get(id),
        epoch,
        receiversOf: this.#receiversOf,
      }),
    );
    // Only a commit makes the trail true: one of an event that was rolled back would shorten the next one wrongly.
    if (appended?.trail) this.#trails.keep(id, appended.trail);
    return appended?.stored ?? null;
  }

  async lastSequence(id: RunId): Promise<number> {
    const row = await this.#db
      .selectFrom("run_event")
      .select("sequence")
      .where("run_id", "=", id)
      .orderBy("sequence", "desc")
      .limit(1)
      .executeTakeFirst();
    return row?.sequence ?? 0;
  }

  async eventsAfter(id: RunId, sequence: number, limit: number): Promise<readonly RunEvent[]> {
    return readEvents(this.#db, id, { after: sequence, limit, trail: this.#trails.get(id) });
  }

  async finish(
    id: RunId,
    outcome: RunOutcome,
    event: (record: RunRecord) => NewRunEvent,
    { epoch, steered = "requeue" }: FinishOptions = {},
  ): Promise<RunEvent | null> {
    const last = await this.#db.transaction().execute(async (transaction) => {
      const record = await readRun(transaction, id);
      if (record === null || isTerminal(record.state)) return null;
      if (epoch !== undefined && record.epoch !== epoch) return null;
      const ended = { ...record, ...outcome, claim: null };
      const appended = await appendEvent(transaction, id, {
        event: event(ended),
        trail: null,
        receiversOf: this.#receiversOf,
      });
      if (appended === null) return null;
      const unclaimed = { worker: null, claim_expires_at: null };
      await transaction
        .updateTable("run")
        .set({ ...toOutcomeColumns(outcome), ...unclaimed })
        .where("id", "=", id)
        .execute();
      await writeOutcomes(transaction, id, outcome.attachments);
      await settleWaiting(transaction, record, { end: steered, now: outcome.endedAt });
      return appended.stored;
    });
    this.#trails.drop(id);
    return last;
  }

  async listOpen(): Promise<readonly RunRecord[]> {
    const rows = await selectRuns(this.#db)
      .where("run.state", "in", OPEN_STATES)
      .orderBy("run.position")
      .execute();
    return withAttachments(this.#db, rows);
  }

  async mergeMetadata(id: RunId, metadata: Readonly<Record<string, unknown>>): Promise<boolean> {
    return this.#db.transaction().execute(async (transaction) => {
      const run = await readRun(transaction, id);
      if (run === null) return false;
      const metadata_json = writeJson({ ...run.metadata, ...metadata });
      await transaction.updateTable("run").set({ metadata_json }).where("id", "=", id).execute();
      return true;
    });
  }

  /** A claim that a power cut takes back leaves a queued run. */
  async claim(id: RunId, by: Claimant): Promise<RunRecord | null> {
    return this.#deps.database.relaxed((transaction) => claimRun(transaction, id, by));
  }

  async renew(by: Claimant): Promise<readonly RunId[]> {
    return this.#deps.database.relaxed((transaction) => renewClaims(transaction, by));
  }

  async release(id: RunId, epoch: number, now: number): Promise<boolean> {
    return releaseClaim(this.#db, id, { epoch, now });
  }

  async listAdrift(now: number, queuedBefore: number): Promise<readonly RunRecord[]> {
    return listAdrift(this.#db, { now, queuedBefore });
  }

  async failDelivered(id: RunId, error: RunError): Promise<void> {
    await this.#db
      .updateTable("run")
      .set({ state: "failed", error_json: writeJson(error) })
      .where("id", "=", id)
      .where("state", "=", "completed")
      .execute();
  }

  async releaseAttachments(createdBefore: number, reason: string, limit: number): Promise<readonly string[]> {
    return this.#db
      .transaction()
      .execute((transaction) => releaseAttachments(transaction, { createdBefore, reason, limit }));
  }

  async removeEnded(createdBefore: number, limit: number): Promise<number> {
    const rows = await this.#db
      .selectFrom("run")
      .select("id")
      .where("created_at", "<", createdBefore)
      .where("state", "not in", OPEN_STATES)
      .limit(limit)
      .execute();
    const ids = rows.map(({ id }) => id);
    if (ids.length > 0) await this.#db.deleteFrom("run").where("id", "in", ids).execute();
    return ids.length;
  }

  get #db(): Kysely<Schema> {
    return this.#deps.database.db;
  }
}
