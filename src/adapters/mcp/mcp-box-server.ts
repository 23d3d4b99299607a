/**
 * An MCP server that runs inside boxes: one process per box while runs use it, started at the first call, gone with the
 * container. What it lists is believed for its own session only: a box could change what it finds there.
 */
import { ServiceError } from "../../domain/errors.js";
import type { SessionId } from "../../domain/ids.js";
import { CleanupStack } from "../../lib/cleanup-stack.js";
import { KeyedLock } from "../../lib/keyed-lock.js";
import type { BoxHandle } from "../../ports/box-handle.js";
import type { Clock } from "../../ports/clock.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import type { ToolEvent } from "../../ports/tool.js";
import type {
  RunToolBox,
  SessionBox,
  SourcedCall,
  ToolListing,
  ToolScope,
  ToolSource,
} from "../../ports/tool-source.js";
import { spawnInBox } from "./box-process.js";
import { callServer, listServer } from "./call-server.js";
import { McpConnection } from "./connection.js";
import { BOX_LIST_TTL_MS } from "./limits.js";
import { PipeTransport } from "./pipe-transport.js";
import type { StdioServer } from "./settings.js";

export interface BoxServerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
}

/** Sessions whose list is kept. */
const MAX_LISTS = 1000;

interface KnownList {
  readonly listing: ToolListing;
  /** Monotonic milliseconds. */
  readonly until: number;
}

interface SharedServer {
  readonly connection: McpConnection;
  readonly life: AsyncDisposable;
}

export class McpBoxServer implements ToolSource {
  readonly source = "mcp";
  readonly sourceId: string;
  readonly reservedNames = [];
  readonly #deps: BoxServerDeps;
  readonly #server: StdioServer;
  readonly #lists = new Map<SessionId, KnownList>();
  readonly #shared = new Map<SessionId, SharedServer>();
  /** Runs that have called the server in a box and have not let the box go. */
  readonly #users = new Map<SessionId, Set<string>>();
  readonly #locks = new KeyedLock<SessionId>();

  constructor(deps: BoxServerDeps, server: StdioServer) {
    this.#deps = deps;
    this.#server = server;
    this.sourceId = server.id;
  }

  /** The first list of a session makes its box run; a run without a box gets no tools of it, and is told so. */
  async list({ box }: ToolScope, options: CallOptions): Promise<ToolListing> {
    if (box === null) {
      const message = `The tools of mcp "${this.sourceId}" are missing: they run in a box, and this run has none.`;
      return { tools: [], warnings: [{ code: "tools.source_failed", message }] };
    }
    using _turn = await this.#locks.acquire(box.sessionId, options);
    const known = this.#lists.get(box.sessionId);
    if (known !== undefined && this.#deps.clock.elapsed() < known.until) return known.listing;
    const shared = this.#shared.get(box.sessionId);
    const listing =
      shared === undefined || shared.connection.isClosed
        ? await this.#listOnce(box, options)
        : await this.#listOf(shared.connection, options);
    this.#keep(box.sessionId, listing);
    return listing;
  }

  async *run(
    call: SourcedCall,
    box: RunToolBox | null,
    options: CallOptions,
  ): AsyncGenerator<ToolEvent, void> {
    if (box === null) {
      yield { type: "outcome", outcome: { ok: false, error: "The tool needs a bound box." } };
      return;
    }
    const server = await this.#use(box, options);
    try {
      yield { type: "outcome", outcome: await callServer(server.connection, { call, box }, options) };
    } catch (error) {
      options.signal.throwIfAborted();
      this.#lists.delete(box.sessionId);
      this.#deps.logger.warn({ sessionId: box.sessionId }, "A call of an MCP server in a box failed.", error);
      const outcome = { ok: false, error: `The MCP server "${this.sourceId}" in the box ended.` } as const;
      yield { type: "outcome", outcome };
    }
  }

  async #listOnce(box: SessionBox, options: CallOptions): Promise<ToolListing> {
    const { connection, life } = await this.#start(box, options);
    await using _life = life;
    return await this.#listOf(connection, options);
  }

  async #listOf(connection: McpConnection, options: CallOptions): Promise<ToolListing> {
    const { id, agentRead } = this.#server;
    return listServer(connection, { id, agentRead, effect: { kind: "box.exec" } }, options);
  }

  #keep(id: SessionId, listing: ToolListing): void {
    this.#lists.delete(id);
    this.#lists.set(id, { listing, until: this.#deps.clock.elapsed() + BOX_LIST_TTL_MS });
    const [oldest] = this.#lists.keys();
    if (this.#lists.size > MAX_LISTS && oldest !== undefined) this.#lists.delete(oldest);
  }

  /** The one process of the box, which this run keeps until it lets the box go. */
  async #use(box: RunToolBox, options: CallOptions): Promise<SharedServer> {
    const { sessionId } = box;
    using _turn = await this.#locks.acquire(sessionId, options);
    const user = box.runId ?? "";
    const users = this.#users.get(sessionId) ?? new Set();
    if (!users.has(user)) {
      this.#users.set(sessionId, users.add(user));
      box.onRelease(() => this.#leave(sessionId, user));
    }
    const known = this.#shared.get(sessionId);
    if (known !== undefined && !known.connection.isClosed) return known;
    this.#shared.delete(sessionId);
    if (known !== undefined) await this.#end(sessionId, known);
    const shared = await this.#start(box, options);
    this.#shared.set(sessionId, shared);
    return shared;
  }

  async #leave(sessionId: SessionId, user: string): Promise<void> {
    using _turn = await this.#locks.acquire(sessionId, { signal: new AbortController().signal });
    const users = this.#users.get(sessionId);
    users?.delete(user);
    if (users !== undefined && users.size > 0) return;
    this.#users.delete(sessionId);
    const shared = this.#shared.get(sessionId);
    this.#shared.delete(sessionId);
    if (shared !== undefined) await this.#end(sessionId, shared);
  }

  async #end(sessionId: SessionId, { life }: SharedServer): Promise<void> {
    try {
      await life[Symbol.asyncDispose]();
    } catch (error) {
      this.#deps.logger.warn({ sessionId }, "An MCP server in a box was not ended cleanly.", error);
    }
  }

  async #start(box: SessionBox, options: CallOptions): Promise<SharedServer> {
    await using taken = new CleanupStack();
    const { handle } = taken.use(await box.hold(options));
    const connection = await this.#connect(handle, options);
    taken.defer(() => connection.close());
    return { connection, life: taken.move() };
  }

  async #connect(handle: BoxHandle, options: CallOptions): Promise<McpConnection> {
    await using taken = new CleanupStack();
    const pipe = taken.use(await spawnInBox(handle, this.#server, options));
    try {
      const connection = await McpConnection.open(new PipeTransport(pipe), this.#deps, options);
      // It ends the process when it is closed.
      taken.move();
      return connection;
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof ServiceError) throw error;
      // Said by a program of the box: it may name paths there.
      const said = pipe.lastWords();
      const reason = said === "" ? "it ended or gave no proper answer" : said.replace(/\.$/u, "");
      throw new ServiceError(
        "outbound.failed",
        `The MCP server "${this.sourceId}" did not start in the box: ${reason}.`,
        { cause: error },
      );
    }
  }
}
