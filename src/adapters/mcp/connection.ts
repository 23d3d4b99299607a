/** One connection to an MCP server: handshake, the list of its tools, calls. The list is kept until the server says that it changed. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { ServiceError } from "../../domain/errors.js";
import { type ForeignTool, MAX_FOREIGN_TOOLS, safeToolName } from "../../domain/foreign-tools.js";
import { CleanupStack } from "../../lib/cleanup-stack.js";
import { leaveOnAbort } from "../../lib/leave-on-abort.js";
import { linkSignals } from "../../lib/link-signals.js";
import { TimeLimit } from "../../lib/time-limit.js";
import type { CallOptions } from "../../ports/options.js";
import { CALL_MS, CONNECT_MS, LIST_MS, MAX_ENTRIES, MAX_PAGES } from "./limits.js";

const objectSchema = z.record(z.string(), z.unknown());

const toolSchema = z.object({
  name: z.string(),
  description: z.string().catch(""),
  inputSchema: objectSchema.catch({ type: "object", properties: {} }),
});
/** Tools are read one by one: what is wrong with one costs no other. */
const pageSchema = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** Remembers that the other side is gone. */
class WatchedClient extends Client {
  isClosed = false;

  override onclose = (): void => {
    this.isClosed = true;
  };
}

export class McpConnection {
  readonly #client: WatchedClient;
  readonly #names = new Map<string, string>();
  #tools: Promise<readonly ForeignTool[]> | null = null;

  private constructor(client: WatchedClient) {
    this.#client = client;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      this.#tools = null;
    });
  }

  /** @throws ServiceError `outbound.failed` for a server that does not answer as one; the caller's abort */
  static async open(
    transport: Transport,
    { version }: { readonly version: string },
    options: CallOptions,
  ): Promise<McpConnection> {
    const client = new WatchedClient({ name: "berth", version });
    await using taken = new CleanupStack();
    const connection = new McpConnection(client);
    taken.defer(() => connection.close());
    using limit = new TimeLimit(() => tooSlow("shake hands", CONNECT_MS));
    limit.restart(CONNECT_MS);
    using linked = linkSignals(options.signal, limit.signal);
    try {
      // The client closes the transport when the handshake fails.
      await client.connect(transport, { signal: linked.signal, timeout: CALL_MS });
    } catch (error) {
      linked.signal.throwIfAborted();
      throw error;
    }
    taken.move();
    return connection;
  }

  get isClosed(): boolean {
    return this.#client.isClosed;
  }

  get hasResources(): boolean {
    return this.#client.getServerCapabilities()?.resources !== undefined;
  }

  /** Under names that models take; names that the service could not tell apart stand side by side. */
  async tools(options: CallOptions): Promise<readonly ForeignTool[]> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return [];
    const listing = this.#tools ?? this.#list();
    this.#tools = listing;
    try {
      return await leaveOnAbort(listing, options);
    } catch (error) {
      if (this.#tools === listing) this.#tools = null;
      throw error;
    }
  }

  /** @param name as it was listed; the server's own name is restored */
  async call(
    name: string,
    input: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<Readonly<Record<string, unknown>>> {
    const params = { name: this.#names.get(name) ?? name, arguments: { ...input } };
    return this.request("tools/call", params, options);
  }

  /** @throws the server's error, or the caller's abort; the server is told that its answer is not waited for */
  async request(
    method: "tools/call" | "tools/list" | "resources/list" | "resources/read",
    params: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<Readonly<Record<string, unknown>>> {
    // The client listens to what it is given for ever.
    using linked = linkSignals(options.signal);
    try {
      const limits = { signal: linked.signal, timeout: CALL_MS };
      return await this.#client.request({ method, params }, objectSchema, limits);
    } catch (error) {
      options.signal.throwIfAborted();
      throw error;
    }
  }

  /** For all who ask meanwhile, so no single caller's signal ends it. */
  async #list(): Promise<readonly ForeignTool[]> {
    using limit = new TimeLimit(() => tooSlow("list its tools", LIST_MS));
    limit.restart(LIST_MS);
    const tools: ForeignTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES && tools.length <= MAX_FOREIGN_TOOLS; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const answer = pageSchema.parse(await this.request("tools/list", params, limit));
      tools.push(...answer.tools.slice(0, MAX_ENTRIES).flatMap(readTool));
      if (answer.nextCursor === undefined || answer.nextCursor === cursor) break;
      cursor = answer.nextCursor;
    }
    this.#names.clear();
    for (const { name } of tools.toReversed()) this.#names.set(safeToolName(name), name);
    return tools.map(({ name, description, parameters }) => ({
      name: safeToolName(name),
      description,
      parameters,
    }));
  }

  /** Resolves when the way to the server is closed, and what stood behind it has ended. */
  async close(): Promise<void> {
    this.#client.isClosed = true;
    await this.#client.close();
  }
}

function readTool(value: unknown): readonly ForeignTool[] {
  const parsed = toolSchema.safeParse(value);
  if (!parsed.success) return [];
  const { name, description, inputSchema } = parsed.data;
  return [{ name, description, parameters: inputSchema }];
}

function tooSlow(what: string, limitMs: number): ServiceError {
  return new ServiceError("outbound.failed", `The MCP server did not ${what} within ${limitMs / 1000} s.`);
}
