/** A real MCP server of the SDK's own making, for tests: tools that answer, fail, hang, grow, and a resource. */
import { spawn } from "node:child_process";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

/** A PNG of one pixel. */
export const PNG_BASE64 =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const say = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });

/** @param name goes into what `search` answers, so that two servers can be told apart */
export function makeMcpServer(name: string): McpServer {
  const server = new McpServer({ name, version: "1.0.0" });
  server.registerTool(
    "search",
    { description: "Finds.", inputSchema: { query: z.string(), limit: z.number().optional() } },
    async ({ query, limit }) => say(`${name} found ${query}, at most ${limit ?? "all"}`),
  );
  server.registerTool("fail", { description: "Fails." }, async () => ({
    ...say("no such thing"),
    isError: true,
  }));
  server.registerTool("image", { description: "Draws." }, async () => ({
    content: [
      { type: "text", text: "one pixel" },
      { type: "image", data: PNG_BASE64, mimeType: "image/png" },
    ],
  }));
  server.registerTool("structured", { description: "Counts." }, async () => ({
    content: [],
    structuredContent: { count: 3 },
  }));
  server.registerTool("long", { description: "Says much." }, async () => say("x".repeat(600_000)));
  server.registerTool("hang", { description: "Never answers." }, async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    stopped += 1;
    return say("stopped");
  });
  server.registerTool("stopped", { description: "Counts calls that were stopped." }, async () =>
    say(String(stopped)),
  );
  server.registerTool("environment", { description: "Tells its variables." }, async () =>
    say(JSON.stringify(process.env)),
  );
  server.registerTool("child", { description: "Starts a process." }, async () => {
    const child = spawn("sleep", ["600"], { stdio: "ignore" });
    return say(String(child.pid));
  });
  server.registerTool("crash", { description: "Ends the server." }, async () => {
    process.kill(process.pid, "SIGKILL");
    return say("gone");
  });
  server.registerTool("grow", { description: "Adds a tool." }, async () => {
    server.registerTool("grown", { description: "Came later." }, async () => say("new"));
    return say("grown");
  });
  server.registerResource("notes", "memo://notes", { mimeType: "text/plain" }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: `notes of ${name}` }],
  }));
  return server;
}

let stopped = 0;
