import { describe, expect, it } from "vitest";
import { calls, ScriptedModel, text } from "../../fakes/scripted-model.js";
import { lastToolResults, says } from "../../support/agent-script.js";
import { onePipeline, standIn, startService } from "../../support/composed-service.js";
import { mcpCommand, startMcpHttpServer } from "../../support/mcp-programs.js";
import { proves } from "../../support/proves.js";

const message = { chat: { launcher_type: "person", launcher_id: "42" }, input: { text: "Find it" } };

describe("tools of MCP servers in a run", () => {
  it("come from the server that is authorised, over stdio and over http, and show no secret of it", async () => {
    proves("AUTH-09");
    await using http = await startMcpHttpServer("web");
    using model = new ScriptedModel([
      calls([
        { name: "search", arguments: { query: "a" } },
        { name: "environment", arguments: {} },
        { name: "structured", arguments: {} },
      ]),
      says((request) => JSON.stringify(lastToolResults(request))),
    ]);
    const tools = ["mcp:docs/search", "mcp:docs/environment", "mcp:web/structured"];
    await using service = await startService({
      models: new Map([["m1", model]]),
      settings: {
        models: [standIn("m1")],
        boxes: { enabled: false },
        outbound: { allowed_private_hosts: ["127.0.0.1"] },
        mcp_servers: [
          { id: "docs", command: mcpCommand("docs"), env: { DOCS_TOKEN: "tk-1234567890" } },
          { id: "web", transport: "http", url: http.url },
          { id: "gone", command: ["/opt/none/at-all"] },
        ],
        pipelines: [onePipeline("m1", { tools: [...tools, "mcp:gone/*"] })],
      },
    });
    const run = await service.send(message);
    const answer = String(run.message?.content);
    expect(run.status).toBe("completed");
    expect(answer).toContain("docs found a, at most all");
    expect(answer).toContain('{\\"count\\":3}');
    expect(answer).toContain("[redacted]");
    expect(answer).not.toContain("tk-1234567890");
    expect(run.warnings).toMatchObject([
      {
        code: "tools.source_failed",
        message: 'The tools of mcp "gone" are missing: The MCP server "gone" could not be reached.',
      },
    ]);
  });

  it("are hidden where two servers offer the name and nothing says which is meant", async () => {
    using model = new ScriptedModel([text("Nothing found.")]);
    await using service = await startService({
      models: new Map([["m1", model]]),
      settings: {
        models: [standIn("m1")],
        boxes: { enabled: false },
        mcp_servers: ["one", "two"].map((id) => ({ id, command: mcpCommand(id), agent_read: false })),
        pipelines: [onePipeline("m1", { tools: ["search"] })],
      },
    });
    const run = await service.send(message);
    expect(run.warnings).toMatchObject([{ code: "resources.tool_hidden" }]);
    expect(model.requests[0]?.tools ?? []).toEqual([]);
  });
});
