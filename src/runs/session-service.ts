/** Sessions as surfaces see them: what they are, who uses them, their end, and the way into their box (api §4). */
import type { BoxEntry } from "../box/box-entry.js";
import type { BoxService } from "../box/box-service.js";
import type { Jobs } from "../box/jobs.js";
import type { Terminals } from "../box/terminals.js";
import type { RunId, SessionId } from "../domain/ids.js";
import { isTerminal, RUN_STATES } from "../domain/run.js";
import type { SessionRecord } from "../domain/session.js";
import type { IdSource } from "../ports/id-source.js";
import type { CallOptions } from "../ports/options.js";
import type { RunStore } from "../ports/run-store.js";
import type { SessionStore } from "../ports/session-store.js";
import type { NativeTool } from "../ports/tool.js";
import { type ChatSeen, findChats } from "./chats-seen.js";
import { OpenSession } from "./open-session.js";
import type { Caller } from "./run-request.js";

/** Runs that are looked through for chats, and runs that are told as active. */
const MAX_LOOKED_THROUGH = 1000;
const MAX_ACTIVE = 100;

const OPEN_STATES = RUN_STATES.filter((state) => !isTerminal(state));

export interface SessionServiceDeps {
  readonly boxes: Pick<
    BoxService,
    "describe" | "getSession" | "isInUse" | "lease" | "removeSession" | "stopSession"
  >;
  readonly jobs: Jobs;
  readonly terminals: Terminals;
  readonly sessions: Pick<SessionStore, "list">;
  readonly runs: Pick<RunStore, "list" | "listChats">;
  readonly ids: IdSource;
  /** The tool that runs commands, for those a person runs by hand. */
  readonly exec: NativeTool;
}

export interface SessionView {
  readonly session: SessionRecord;
  readonly box: BoxEntry;
}

export interface SessionDetail extends SessionView {
  /** The one that spoke last first. */
  readonly chats: readonly ChatSeen[];
  /** Runs of the session that have not ended, newest first. */
  readonly activeRuns: readonly RunId[];
}

/** What runs in a session's box beside its runs. */
export interface SessionProcesses {
  readonly session: SessionRecord;
  readonly jobs: Jobs;
  readonly terminals: Terminals;
}

export interface SessionPage {
  readonly sessions: readonly SessionView[];
  readonly hasMore: boolean;
}

/** Ids of another tenant are `session.not_found` everywhere (api §1.3). */
export class SessionService {
  readonly #deps: SessionServiceDeps;

  constructor(deps: SessionServiceDeps) {
    this.#deps = deps;
  }

  /** Newest first. */
  async list(
    { tenant }: Caller,
    page: { readonly limit: number; readonly after?: SessionId | undefined },
    options: CallOptions,
  ): Promise<SessionPage> {
    const { limit, after = null } = page;
    const records = await this.#deps.sessions.list(tenant, { limit: limit + 1, after });
    const shown = records.slice(0, limit);
    return { sessions: await this.#look(shown, options), hasMore: records.length > limit };
  }

  async get({ tenant }: Caller, id: SessionId, options: CallOptions): Promise<SessionDetail> {
    const { runs } = this.#deps;
    const session = await this.#deps.boxes.getSession(tenant, id);
    const [box] = await this.#deps.boxes.describe([session], options);
    if (box === undefined) throw new Error("A session has no box entry.");
    const filter = { session: id, states: OPEN_STATES, limit: MAX_ACTIVE };
    return {
      session,
      box,
      chats: findChats(await runs.listChats(tenant, id, MAX_LOOKED_THROUGH)),
      activeRuns: (await runs.list(tenant, filter)).map((run) => run.id),
    };
  }

  /** @throws ServiceError `session.not_found`, also for one of another tenant */
  async check({ tenant }: Caller, id: SessionId): Promise<void> {
    await this.#deps.boxes.getSession(tenant, id);
  }

  /**
   * Jobs and terminals, for a session that is the caller's.
   * @throws ServiceError `session.not_found`
   */
  async processes({ tenant }: Caller, id: SessionId): Promise<SessionProcesses> {
    const session = await this.#deps.boxes.getSession(tenant, id);
    return { session, jobs: this.#deps.jobs, terminals: this.#deps.terminals };
  }

  /**
   * Box, workspace and record go; jobs and terminals end.
   * @throws ServiceError `box.conflict` while somebody uses the box, unless forced
   */
  async remove(
    { tenant }: Caller,
    id: SessionId,
    options: CallOptions & { readonly force: boolean },
  ): Promise<void> {
    const { boxes, jobs, terminals } = this.#deps;
    await boxes.getSession(tenant, id);
    // What is refused ends nothing.
    if (options.force || !boxes.isInUse(id)) await Promise.all([jobs.removeAll(id), terminals.endAll(id)]);
    await boxes.removeSession(tenant, id, options);
  }

  /**
   * Gives up the container and keeps the workspace; jobs and terminals end.
   * @throws ServiceError `box.conflict` while somebody uses the box
   */
  async stop(caller: Caller, id: SessionId, options: CallOptions): Promise<SessionDetail> {
    const { boxes, jobs, terminals } = this.#deps;
    await boxes.getSession(caller.tenant, id);
    if (!boxes.isInUse(id)) await Promise.all([jobs.stopAll(id), terminals.endAll(id)]);
    await boxes.stopSession(caller.tenant, id);
    return this.get(caller, id, options);
  }

  /**
   * Makes the box run and holds it until disposed; runs of the session go on beside it.
   * @throws ServiceError `box.disabled`, `box.engine_unavailable`, `box.readiness`, `box.capacity`, `box.conflict`
   */
  async open({ tenant }: Caller, id: SessionId, options: CallOptions): Promise<OpenSession> {
    const { boxes, exec, ids, jobs } = this.#deps;
    const session = await boxes.getSession(tenant, id);
    return new OpenSession({ exec, ids, jobs, lease: await boxes.lease(session, options) });
  }

  async #look(records: readonly SessionRecord[], options: CallOptions): Promise<readonly SessionView[]> {
    const entries = await this.#deps.boxes.describe(records, options);
    return records.flatMap((session, index) => {
      const box = entries[index];
      return box === undefined ? [] : [{ session, box }];
    });
  }
}
