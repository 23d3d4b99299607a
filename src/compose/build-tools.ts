/** The catalogue of tools: the service's own, those of packages, and those of MCP servers. */

import { spawnOnHost } from "../adapters/mcp/host-process.js";
import { httpTransport } from "../adapters/mcp/http-transport.js";
import { McpBoxServer } from "../adapters/mcp/mcp-box-server.js";
import { McpServiceServer } from "../adapters/mcp/mcp-service-server.js";
import { overPipe } from "../adapters/mcp/pipe-transport.js";
import { GuardedHttp } from "../adapters/outbound/guarded-http.js";
import type { Config } from "../config/config-schema.js";
import type { McpServerConfig } from "../config/mcp-settings.js";
import type { CleanupStack } from "../lib/cleanup-stack.js";
import type { OutboundHttp } from "../ports/outbound-http.js";
import type { PluginPackages } from "../ports/plugin-packages.js";
import type { ToolSource } from "../ports/tool-source.js";
import { nativeTools } from "../tools/native/index.js";
import { NativeToolSource } from "../tools/native-source.js";
import { PluginToolSource } from "../tools/plugin-source.js";
import { ToolCatalog } from "../tools/tool-catalog.js";
import { toBoxSettings } from "./feature-settings.js";
import type { Base } from "./open-base.js";

export interface ToolParts {
  readonly base: Base;
  /** Null = packages are switched off. */
  readonly packages: PluginPackages | null;
  readonly version: string;
}

/** What has to be closed again is given to `life`. */
export function buildTools(config: Config, parts: ToolParts, life: CleanupStack): ToolCatalog {
  const { base, packages, version } = parts;
  const { workspaceMode } = toBoxSettings(config);
  const tools = nativeTools({ outputChars: config.exec.output_chars, mask: base.mask });
  const native = new NativeToolSource(tools, { boxesEnabled: config.boxes.enabled, workspaceMode });
  const ofPackages = packages === null ? [] : [new PluginToolSource(packages)];
  const http = new GuardedHttp({ allowedPrivateHosts: config.outbound.allowed_private_hosts });
  const of = { base, version, http, environment: config.plugins.baseEnvironment };
  const servers = config.mcp_servers.map((server) => buildServer(server, of, life));
  return new ToolCatalog({ sources: [native, ...ofPackages, ...servers], logger: base.logger });
}

interface ServerParts {
  readonly base: Base;
  readonly version: string;
  readonly http: OutboundHttp;
  /** What every program beside the service gets. */
  readonly environment: Readonly<Record<string, string>>;
}

function buildServer(
  server: McpServerConfig,
  { base, version, http, environment }: ServerParts,
  life: CleanupStack,
): ToolSource {
  const { id, command, env, url, headers, agent_read: agentRead } = server;
  const deps = { clock: base.clock, logger: base.logger, version };
  if (server.where === "box") return new McpBoxServer(deps, { id, agentRead, command, env });
  const source = new McpServiceServer(
    {
      ...deps,
      open: async (options) =>
        url === null
          ? overPipe(await spawnOnHost({ command, env: { ...environment, ...env } }, options))
          : { transport: httpTransport({ url, headers }, http) },
    },
    { id, agentRead },
  );
  return life.use(source);
}
