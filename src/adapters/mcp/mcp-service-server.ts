/** An MCP server that the service itself speaks to: connected when it is first needed, again when it was lost, not at once when it failed. */
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ServiceError } from "../../domain/errors.js";
import { leaveOnAbort } from "../../lib/leave-on-abort.js";
import type { Clock } from "../../ports/clock.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import type { ToolEvent } from "../../ports/tool.js";
import type { RunToolBox, SourcedCall, ToolListing, ToolScope, ToolSource } from "../../ports/tool-source.js";
import { callServer, describeFailure, listServer } from "./call-server.js";
import { McpConnection } from "./connection.js";
import { RETRY_MS } from "./limits.js";
import type { ServerFacts } from "./settings.js";

export interface ServiceServerDeps {
  /** Makes the way to the server. */
  readonly open: (options: CallOptions) => Promise<OpenedWay>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of the service, as the server is told. */
  readonly version: string;
}

export interface OpenedWay {
  readonly transport: Transport;
  /** What a program said last on standard error, for the log; absent where there is none. */
  readonly lastWords?: (() => string) | undefined;
}

interface Failure {
  readonly error: ServiceError;
  readonly count: number;
  /** Monotonic milliseconds before which nobody tries again. */
  readonly until: number;
}

export class McpServiceServer implements ToolSource, AsyncDisposable {
  readonly source = "mcp";
  readonly sourceId: string;
  readonly reservedNames = [];
  readonly #deps: ServiceServerDeps;
  readonly #server: ServerFacts;
  readonly #life = new AbortController();
  #connection: Promise<McpConnection> | null = null;
  #failure: Failure | null = null;

  constructor(deps: ServiceServerDeps, server: ServerFacts) {
    this.#deps = deps;
    this.#server = server;
    this.sourceId = server.id;
  }

  async list(_scope: ToolScope, options: CallOptions): Promise<ToolListing> {
    try {
      const connection = await this.#connect(options);
      return await listServer(connection, { ...this.#server, effect: { kind: "none" } }, options);
    } catch (error) {
      options.signal.throwIfAborted();
      throw describeFailure(this.sourceId, error);
    }
  }

  async *run(
    call: SourcedCall,
    box: RunToolBox | null,
    options: CallOptions,
  ): AsyncGenerator<ToolEvent, void> {
    try {
      yield { type: "outcome", outcome: await this.#call({ call, box }, options) };
    } catch (error) {
      options.signal.throwIfAborted();
      const { message } = describeFailure(this.sourceId, error);
      this.#deps.logger.warn({ tool: call.resource.tool_name }, "A call of an MCP server failed.", error);
      yield { type: "outcome", outcome: { ok: false, error: message } };
    }
  }

  async #call(of: Parameters<typeof callServer>[1], options: CallOptions): ReturnType<typeof callServer> {
    const connection = await this.#connect(options);
    try {
      return await callServer(connection, of, options);
    } catch (error) {
      options.signal.throwIfAborted();
      await this.#drop(connection);
      // The server does not know the session: it has not looked at the call.
      if (!(error instanceof StreamableHTTPError) || error.code !== 404) throw error;
      return callServer(await this.#connect(options), of, options);
    }
  }

  /** Callers share one attempt, which goes on when one of them leaves: a first start may take long. */
  async #connect(options: CallOptions): Promise<McpConnection> {
    this.#life.signal.throwIfAborted();
    const current = this.#connection;
    if (current !== null) {
      const known = await leaveOnAbort(current, options);
      if (!known.isClosed) return known;
      if (this.#connection === current) this.#connection = null;
    }
    const failure = this.#failure;
    if (this.#connection === null && failure !== null && this.#deps.clock.elapsed() < failure.until)
      throw failure.error;
    this.#connection ??= this.#attempt();
    return leaveOnAbort(this.#connection, options);
  }

  async #attempt(): Promise<McpConnection> {
    const { signal } = this.#life;
    let way: OpenedWay | null = null;
    try {
      way = await this.#deps.open({ signal });
      const connection = await McpConnection.open(way.transport, this.#deps, { signal });
      this.#failure = null;
      return connection;
    } catch (error) {
      this.#connection = null;
      throw this.#note(error, way?.lastWords?.() ?? "");
    }
  }

  /** Nobody tries again before its time. @returns what callers are told */
  #note(error: unknown, lastWords: string): ServiceError {
    const count = (this.#failure?.count ?? 0) + 1;
    const waitMs = Math.min(RETRY_MS.longest, RETRY_MS.first * 2 ** (count - 1));
    const failure = describeFailure(this.sourceId, error);
    this.#failure = { error: failure, count, until: this.#deps.clock.elapsed() + waitMs };
    const cause = lastWords === "" ? error : new Error(`The server said: ${lastWords}`, { cause: error });
    if (!this.#life.signal.aborted)
      this.#deps.logger.warn(
        { reason: this.sourceId, attempt: count },
        "An MCP server could not be reached.",
        cause,
      );
    return failure;
  }

  async #drop(connection: McpConnection): Promise<void> {
    if (!connection.isClosed) await this.#close(connection);
  }

  async #close(connection: McpConnection): Promise<void> {
    try {
      await connection.close();
    } catch (error) {
      this.#deps.logger.warn({ reason: this.sourceId }, "An MCP server was not left cleanly.", error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new ServiceError("service.stopping", "The service is stopping."));
    const connection = await this.#connection?.catch(() => null);
    if (connection !== null && connection !== undefined) await this.#close(connection);
  }
}
