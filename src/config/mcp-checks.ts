/** Faults that lie between the settings of an MCP server, and between them and the pipelines that name it. */
import { parseToolGrant } from "../domain/tool-grant.js";
import type { ConfigFault } from "./config-fault.js";
import type { Settings } from "./config-schema.js";
import type { McpServerConfig } from "./mcp-settings.js";

export function findServerFaults({ mcp_servers: servers }: Pick<Settings, "mcp_servers">): ConfigFault[] {
  return servers.flatMap((server, index) =>
    findFormFaults(server).map(({ path, ...fault }) => ({ ...fault, path: `mcp_servers[${index}].${path}` })),
  );
}

/** A server that is not there would be granted to nobody, in silence. */
export function findServerGrantFaults({
  mcp_servers: servers,
  pipelines,
}: Pick<Settings, "mcp_servers" | "pipelines">): ConfigFault[] {
  const ids = servers.map(({ id }) => id);
  const allowed = ids.length === 0 ? "servers of mcp_servers, of which there are none" : ids.join(", ");
  return pipelines.flatMap(({ policy }, index) => {
    const at = `pipelines[${index}].policy`;
    const names = (policy.allowed_tool_names ?? []).map((text, position) => ({
      path: `${at}.allowed_tool_names[${position}]`,
      ref: parseToolGrant(text).ref,
    }));
    const sources = (policy.allowed_tool_sources ?? []).map((ref, position) => ({
      path: `${at}.allowed_tool_sources[${position}].source_id`,
      ref,
    }));
    return [...names, ...sources].flatMap(({ path, ref }): ConfigFault[] =>
      ref === null || ref.source !== "mcp" || ids.includes(ref.source_id)
        ? []
        : [
            {
              path,
              found: `${JSON.stringify(ref.source_id.slice(0, 100))}, which is no MCP server`,
              allowed,
            },
          ],
    );
  });
}

function findFormFaults({ where, transport, command, url }: McpServerConfig): ConfigFault[] {
  if (transport === "http" && where === "box")
    return [{ path: "transport", found: "http in a box", allowed: "stdio: boxes run programs" }];
  if (transport === "http") {
    const program = { path: "command", found: "a command with transport http", allowed: "an empty list" };
    const address = { path: "url", found: "no address", allowed: "an http or https address" };
    return [...(command.length > 0 ? [program] : []), ...(url === null ? [address] : [])];
  }
  const program = { path: "command", found: "an empty list", allowed: "a program and its arguments" };
  const address = {
    path: "url",
    found: "an address with transport stdio",
    allowed: "null, or transport: http",
  };
  return [...(command.length === 0 ? [program] : []), ...(url === null ? [] : [address])];
}
