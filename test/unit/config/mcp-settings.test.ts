import { describe, expect, it } from "vitest";
import { collectSecrets } from "../../../src/config/collect-secrets.js";
import { settingsSchema } from "../../../src/config/config-schema.js";
import { findServerFaults, findServerGrantFaults } from "../../../src/config/mcp-checks.js";
import { secretsOfServers } from "../../../src/config/mcp-settings.js";

const settings = (servers: readonly unknown[], policy: unknown = {}) =>
  settingsSchema.parse({
    mcp_servers: servers,
    pipelines: [{ id: "default", runner: { id: "local-agent" }, runner_config: {}, policy }],
  });

describe("settings of MCP servers", () => {
  it("default to a program beside the service whose resources may be read", () => {
    expect(settings([{ id: "docs", command: ["docs-server"] }]).mcp_servers).toEqual([
      {
        id: "docs",
        where: "service",
        transport: "stdio",
        command: ["docs-server"],
        env: {},
        url: null,
        headers: {},
        agent_read: true,
      },
    ]);
  });

  it.each([
    [{ id: "a" }, "command"],
    [{ id: "a", command: ["x"], url: "http://x.test/" }, "url"],
    [{ id: "a", transport: "http" }, "url"],
    [{ id: "a", transport: "http", url: "http://x.test/", command: ["x"] }, "command"],
    [{ id: "a", transport: "http", url: "http://x.test/", where: "box" }, "transport"],
  ])("are refused where they do not fit together: %j", (server, path) => {
    expect(findServerFaults(settings([server])).map((fault) => fault.path)).toEqual([
      `mcp_servers[0].${path}`,
    ]);
  });

  it.each([
    { id: "a", command: ["x"] },
    { id: "a", command: ["x"], where: "box" },
    { id: "a", transport: "http", url: "https://x.test/mcp" },
  ])("are taken where they do: %j", (server) => {
    expect(findServerFaults(settings([server]))).toEqual([]);
  });

  it.each([
    { id: "a b" },
    { id: "a", agent_read: "true" },
    { id: "a", surprise: 1 },
    { id: "a", env: { "A-B": "1" } },
    { id: "a", url: "file:///etc" },
  ])("refuse %j", (server) => {
    expect(settingsSchema.safeParse({ mcp_servers: [server] }).success).toBe(false);
  });
});

describe("grants in policies", () => {
  const servers = [{ id: "docs", command: ["x"] }];

  it("name servers that are there", () => {
    const policy = {
      allowed_tool_names: ["exec", "mcp:docs/find", "mcp:dosc/find", "plugin:a/b/c"],
      allowed_tool_sources: [
        { source: "native", source_id: "berth" },
        { source: "mcp", source_id: "web" },
      ],
    };
    expect(findServerGrantFaults(settings(servers, policy))).toEqual([
      {
        path: "pipelines[0].policy.allowed_tool_names[2]",
        found: '"dosc", which is no MCP server',
        allowed: "docs",
      },
      {
        path: "pipelines[0].policy.allowed_tool_sources[1].source_id",
        found: '"web", which is no MCP server',
        allowed: "docs",
      },
    ]);
    const [fault] = findServerGrantFaults(settings([], { allowed_tool_names: ["mcp:docs/*"] }));
    expect(fault?.allowed).toBe("servers of mcp_servers, of which there are none");
  });
});

describe("secretsOfServers", () => {
  it("finds variables with a secret's name, and what stands behind the scheme in headers", () => {
    const servers = [
      { env: { API_KEY: "sk-12345678", DOCS_ROOT: "/srv/docs", DB_PASSWORD: "pw-12345678" } },
      { headers: { authorization: "Bearer tk-12345678" } },
      "nonsense",
      { env: { TOKEN: 7 }, headers: 7 },
    ];
    expect(secretsOfServers(servers)).toEqual(["sk-12345678", "pw-12345678", "tk-12345678"]);
    expect(secretsOfServers("nonsense")).toEqual([]);
  });

  it("is part of what is masked, with whole headers and passwords in addresses", () => {
    const servers = [
      { id: "a", command: ["x"], env: { MY_TOKEN: "tk-87654321", PLACE: "/srv/docs" } },
      {
        id: "b",
        transport: "http",
        url: "http://u:p-12345678@x.test/",
        headers: { "x-app": "app-12345678" },
      },
    ];
    expect(new Set(collectSecrets(settings(servers)))).toEqual(
      new Set(["tk-87654321", "p-12345678", "app-12345678"]),
    );
  });
});
