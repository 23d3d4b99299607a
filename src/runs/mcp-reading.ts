/** Whether an agent may read the resources of an MCP server: the pipeline can only take away what the server's setting gives (runs §15.2). */
import { isSwitchedOn } from "../domain/access-switches.js";
import type { RunnerConfig } from "../domain/binding.js";
import type { ToolResource } from "../domain/tool.js";

const SWITCH = "mcp-resource-agent-read-enabled";
/** Under which names an entry of `mcp-resources` may name its server. */
const SERVER_FIELDS = ["server", "server_id", "server_uuid", "server_name"] as const;

/**
 * True for every tool that reads no resources of an MCP server, whatever its name.
 * - `mcp-resource-agent-read-enabled`: absent = allowed; anything but the boolean true forbids all reading (runs §5.6).
 * - `mcp-resources`: an entry that names the server forbids it unless its `enabled` is the boolean true.
 */
export function mayReadResources(
  config: RunnerConfig,
  tool: Pick<ToolResource, "source_id" | "reads_resources">,
): boolean {
  if (tool.reads_resources !== true) return true;
  const isSaid = config[SWITCH] !== undefined;
  if (isSaid && !isSwitchedOn(config, SWITCH)) return false;
  const entries: unknown = config["mcp-resources"];
  if (!Array.isArray(entries)) return true;
  return entries.every((entry: unknown) => !speaksOf(entry, tool.source_id) || isEnabled(entry));
}

function speaksOf(entry: unknown, serverId: string): boolean {
  if (typeof entry !== "object" || entry === null) return false;
  const fields = new Map<string, unknown>(Object.entries(entry));
  return SERVER_FIELDS.some((field) => fields.get(field) === serverId);
}

function isEnabled(entry: unknown): boolean {
  return typeof entry === "object" && entry !== null && "enabled" in entry && entry.enabled === true;
}
