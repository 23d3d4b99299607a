import { existsSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { spawnOnHost } from "../../../../src/adapters/mcp/host-process.js";
import { httpTransport } from "../../../../src/adapters/mcp/http-transport.js";
import { McpServiceServer } from "../../../../src/adapters/mcp/mcp-service-server.js";
import { overPipe } from "../../../../src/adapters/mcp/pipe-transport.js";
import { GuardedHttp } from "../../../../src/adapters/outbound/guarded-http.js";
import type { ToolEvent } from "../../../../src/ports/tool.js";
import type { ToolScope } from "../../../../src/ports/tool-source.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { mcpCommand, startMcpHttpServer } from "../../../support/mcp-programs.js";

const SCOPE: ToolScope = { tenant: "main", allowedPackages: null, wants: () => true, box: null };
const { signal } = new AbortController();

async function namesOf(server: McpServiceServer): Promise<readonly string[]> {
  return (await server.list(SCOPE, { signal })).tools.map(({ tool_name }) => tool_name);
}

async function call(
  server: McpServiceServer,
  name: string,
  { input = {}, until = signal }: { input?: Record<string, unknown>; until?: AbortSignal } = {},
): Promise<ToolEvent | null> {
  const { tools } = await server.list(SCOPE, { signal });
  const resource = tools.find(({ tool_name }) => tool_name === name);
  if (resource === undefined) throw new Error(`There is no tool ${name}.`);
  const given = { id: "call_1", resource, input };
  for await (const event of server.run(given, null, { signal: until })) return event;
  return null;
}

const said = (result: unknown) => ({ type: "outcome", outcome: { ok: true, result } });

describe("McpServiceServer", () => {
  const opened: McpServiceServer[] = [];
  const clock = new FakeClock();
  const logger = new KeptLogger();
  const deps = { clock, logger, version: "1.2.3" };

  const keep = (server: McpServiceServer): McpServiceServer => {
    opened.push(server);
    return server;
  };

  afterEach(async () => {
    for (const server of opened.splice(0)) await server[Symbol.asyncDispose]();
  });

  const program = (id: string, { agentRead = true, env = {} } = {}): McpServiceServer => {
    const open = async (options: { signal: AbortSignal }) =>
      overPipe(await spawnOnHost({ command: mcpCommand(id), env }, options));
    return keep(new McpServiceServer({ ...deps, open }, { id, agentRead }));
  };

  const reach = (url: string, allowedPrivateHosts = ["127.0.0.1"]): McpServiceServer => {
    const http = new GuardedHttp({ allowedPrivateHosts });
    const headers = { authorization: "Bearer sk-1234567890" };
    const open = async () => ({ transport: httpTransport({ url, headers }, http) });
    return keep(new McpServiceServer({ ...deps, open }, { id: "web", agentRead: true }));
  };

  describe("over stdio", () => {
    it("lists the tools of the program with source and schema, and reads resources beside them", async () => {
      const { tools } = await program("docs").list(SCOPE, { signal });
      expect(tools[0]).toMatchObject({
        source: "mcp",
        source_id: "docs",
        tool_name: "search",
        description: "Finds.",
        effect: { kind: "none" },
        parameters: { type: "object", required: ["query"] },
      });
      expect(tools.filter((tool) => tool.reads_resources === true).map(({ tool_name }) => tool_name)).toEqual(
        ["list_mcp_resources_docs", "read_mcp_resource_docs"],
      );
    });

    it("offers no reading where the server's agent_read is off", async () => {
      const names = await namesOf(program("docs", { agentRead: false }));
      expect(names.filter((name) => name.includes("mcp_resource"))).toEqual([]);
    });

    it("calls tools: text as text, structured content as it is, failures as failures", async () => {
      const server = program("docs");
      expect(await call(server, "search", { input: { query: "文件" } })).toEqual(
        said("docs found 文件, at most all"),
      );
      expect(await call(server, "structured")).toEqual(said({ count: 3 }));
      expect(await call(server, "fail")).toEqual({
        type: "outcome",
        outcome: { ok: false, error: "no such thing" },
      });
      expect(await call(server, "search")).toMatchObject({ outcome: { ok: false } });
    });

    it("bounds long texts, and names what is binary", async () => {
      const server = program("docs");
      const long = await call(server, "long");
      expect(JSON.stringify(long).length).toBeLessThan(530_000);
      expect(JSON.stringify(long)).toContain("[cut here: 600000 characters came, and 524288 are the limit]");
      expect(await call(server, "image")).toEqual(
        said("one pixel\n[image image/png, 70 bytes, not kept: there is no box to keep it in]"),
      );
    });

    it("lists and reads resources", async () => {
      const server = program("docs");
      expect(await call(server, "list_mcp_resources_docs")).toMatchObject(
        said({ resources: [{ uri: "memo://notes", name: "notes" }], next_cursor: null }),
      );
      const input = { uri: "memo://notes" };
      expect(await call(server, "read_mcp_resource_docs", { input })).toEqual(
        said("[resource memo://notes]\nnotes of docs"),
      );
      expect(await call(server, "read_mcp_resource_docs", { input: { uri: "memo://gone" } })).toMatchObject({
        outcome: { ok: false },
      });
      expect(await call(server, "read_mcp_resource_docs")).toMatchObject({ outcome: { ok: false } });
    });

    it("tells the server when a call is not waited for any longer, and goes on with it", async () => {
      const server = program("docs");
      const controller = new AbortController();
      const hanging = call(server, "hang", { until: controller.signal });
      await call(server, "search", { input: { query: "a" } });
      controller.abort(new Error("time is up"));
      await expect(hanging).rejects.toThrow("time is up");
      await expect.poll(() => call(server, "stopped")).toEqual(said("1"));
    });

    it("keeps the list until the server says that it changed", async () => {
      const server = program("docs");
      expect(await namesOf(server)).not.toContain("grown");
      await call(server, "grow");
      await call(server, "search", { input: { query: "a" } });
      expect(await namesOf(server)).toContain("grown");
    });

    it("starts the program with the given variables and no others of the service", async () => {
      const answer = await call(program("docs", { env: { DOCS_ROOT: "/srv/docs" } }), "environment");
      expect(JSON.stringify(answer)).toContain("DOCS_ROOT");
      expect(JSON.stringify(answer)).not.toContain("VITEST");
    });

    it("starts the program again after it ended, and says what became of the call", async () => {
      const server = program("docs");
      expect(await call(server, "crash")).toEqual({
        type: "outcome",
        outcome: { ok: false, error: 'The MCP server "docs" could not be reached.' },
      });
      expect(await call(server, "search", { input: { query: "a" } })).toEqual(
        said("docs found a, at most all"),
      );
    });

    it("ends the program with all that it started", async () => {
      const server = program("docs");
      const answer = await call(server, "child");
      const pid = Number(/"result":"(\d+)"/.exec(JSON.stringify(answer))?.[1]);
      expect(isAlive(pid)).toBe(true);
      await server[Symbol.asyncDispose]();
      await expect.poll(() => isAlive(pid)).toBe(false);
      await expect(server.list(SCOPE, { signal })).rejects.toMatchObject({ code: "service.stopping" });
    });

    it("does not try at once again what failed, and tries later", async () => {
      let attempts = 0;
      const open = async (): Promise<never> => {
        attempts += 1;
        throw new Error("spawn /opt/secret/place ENOENT");
      };
      const server = keep(new McpServiceServer({ ...deps, open }, { id: "gone", agentRead: true }));
      const refused = { code: "outbound.failed", message: 'The MCP server "gone" could not be reached.' };
      await expect(server.list(SCOPE, { signal })).rejects.toMatchObject(refused);
      await expect(server.list(SCOPE, { signal })).rejects.toMatchObject(refused);
      expect(attempts).toBe(1);
      clock.advance(1000);
      await expect(server.list(SCOPE, { signal })).rejects.toMatchObject(refused);
      clock.advance(1000);
      await expect(server.list(SCOPE, { signal })).rejects.toMatchObject(refused);
      expect(attempts).toBe(2);
    });

    it("logs what a program said that ended at once", async () => {
      const command = [process.execPath, "-e", "console.error('no such file'); process.exit(1)"];
      const open = async (options: { signal: AbortSignal }) =>
        overPipe(await spawnOnHost({ command, env: {} }, options));
      const server = keep(new McpServiceServer({ ...deps, open }, { id: "gone", agentRead: true }));
      await expect(server.list(SCOPE, { signal })).rejects.toMatchObject({ code: "outbound.failed" });
      expect(logger.lines.at(-1)).toMatchObject({ cause: { message: "The server said: no such file" } });
    });

    it("leaves out what a model wrote null for", async () => {
      const server = program("docs");
      const input = { query: "a", limit: null };
      expect(await call(server, "search", { input })).toEqual(said("docs found a, at most all"));
      expect(await call(server, "search", { input: { query: null } })).toMatchObject({
        outcome: { ok: false },
      });
    });

    it("says that a program is not there without naming places of the host", async () => {
      const command = ["/opt/none/at-all"];
      const open = async (options: { signal: AbortSignal }) =>
        overPipe(await spawnOnHost({ command, env: {} }, options));
      const server = keep(new McpServiceServer({ ...deps, open }, { id: "gone", agentRead: true }));
      await expect(server.list(SCOPE, { signal })).rejects.toMatchObject({
        message: 'The MCP server "gone" could not be reached.',
      });
    });

    it("lets a caller leave while the first start goes on for the next one", async () => {
      const server = program("docs");
      const aborted = AbortSignal.abort(new Error("enough"));
      await expect(server.list(SCOPE, { signal: aborted })).rejects.toThrow("enough");
      expect(await namesOf(server)).toContain("search");
    });
  });

  describe("over http", () => {
    it("lists and calls, with the configured headers in every request", async () => {
      await using server = await startMcpHttpServer("web");
      const source = reach(server.url);
      expect(await namesOf(source)).toContain("list_mcp_resources_web");
      expect(await call(source, "search", { input: { query: "a" } })).toEqual(
        said("web found a, at most all"),
      );
      expect(await call(source, "fail")).toMatchObject({ outcome: { ok: false, error: "no such thing" } });
      expect(server.seen.length).toBeGreaterThan(2);
      expect(server.seen.every(({ authorization }) => authorization === "Bearer sk-1234567890")).toBe(true);
      await source[Symbol.asyncDispose]();
    });

    it("calls once more in a new session when the server knows the old one no longer", async () => {
      await using server = await startMcpHttpServer("web");
      const source = reach(server.url);
      await namesOf(source);
      server.forget();
      expect(await call(source, "search", { input: { query: "a" } })).toEqual(
        said("web found a, at most all"),
      );
      await source[Symbol.asyncDispose]();
    });

    it("goes to no private address that the operator has not listed", async () => {
      await using server = await startMcpHttpServer("web");
      await expect(reach(server.url, []).list(SCOPE, { signal })).rejects.toMatchObject({
        code: "outbound.refused",
      });
      expect(server.seen).toEqual([]);
    });
  });
});

function isAlive(pid: number): boolean {
  // One that has ended and that nobody has asked for is none.
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && !readFileSync(stat, "utf8").includes(") Z ");
}
