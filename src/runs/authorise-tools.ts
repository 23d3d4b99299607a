/** The tools of a run (runs §15.2). */
import type { Binding } from "../domain/binding.js";
import type { RunnerDescriptor } from "../domain/runner-manifest.js";
import type { ToolResource } from "../domain/tool.js";

export function authoriseTools(
  binding: Binding,
  runner: RunnerDescriptor,
  tools: readonly ToolResource[],
): readonly ToolResource[] {
  if (!runner.capabilities.tool_calling || !runner.permissions.tools.includes("call")) return [];
  const allowed = binding.policy.allowed_tool_names;
  return allowed === null
    ? tools
    : tools.filter((tool) => allowed.includes(GRANTED_WITH.get(tool.tool_name) ?? tool.tool_name));
}

/** A tool that has no grant of its own, and the one whose grant it shares (box §13). */
const GRANTED_WITH: ReadonlyMap<string, string> = new Map([["job", "exec"]]);
