/** How tests reach the MCP servers of their own: as a command, and over HTTP. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { makeMcpServer } from "./mcp-server.js";

/** The stdio server as a command. */
export function mcpCommand(name: string): readonly string[] {
  const program = fileURLToPath(new URL("./mcp-stdio-program.ts", import.meta.url));
  return [process.execPath, "--import", import.meta.resolve("tsx"), program, name];
}

export interface McpHttpServer extends AsyncDisposable {
  readonly url: string;
  /** Headers of the requests so far. */
  readonly seen: readonly IncomingMessage["headers"][];
  /** As after a restart: known sessions are unknown. */
  forget(): void;
}

export async function startMcpHttpServer(name: string): Promise<McpHttpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const seen: IncomingMessage["headers"][] = [];
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    // The SDK declares the parts of a transport as optional in another way than its interface does.
    await makeMcpServer(name).connect(
      Object.assign(transport, { onclose: transport.onclose ?? (() => undefined) }),
    );
    return transport;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    seen.push(request.headers);
    const id = request.headers["mcp-session-id"];
    if (id === undefined) return (await open()).handleRequest(request, response);
    const known = sessions.get(String(id));
    if (known !== undefined) return known.handleRequest(request, response);
    response.writeHead(404).end();
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    forget: () => sessions.clear(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
