/** Which native tools a run is offered, and how they stand in its resources (box §8.1, §10.2, runs §15.2). */
import type { BoxSettings } from "../domain/box.js";
import type { ToolResource } from "../domain/tool.js";
import type { NativeTool } from "../ports/tool.js";

export interface OfferFacts {
  readonly boxesEnabled: boolean;
  readonly workspaceMode: BoxSettings["workspaceMode"];
}

/** Sorted by name. A read-only workspace hides what writes or exports; without boxes there is nothing. */
export function offerNativeTools(tools: readonly NativeTool[], facts: OfferFacts): readonly ToolResource[] {
  if (!facts.boxesEnabled) return [];
  const usable = tools.filter((tool) => facts.workspaceMode === "rw" || !tool.needsWritableWorkspace);
  return usable.map(toToolResource).toSorted((a, b) => (a.tool_name < b.tool_name ? -1 : 1));
}

function toToolResource(tool: NativeTool): ToolResource {
  return {
    source: "native",
    source_id: tool.name,
    tool_name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
    effect: tool.effect,
  };
}
