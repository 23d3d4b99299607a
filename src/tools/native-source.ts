/** The tools that the service offers itself, as a source: which of them a run is offered, and how they are called (box §8.1, §10.2). */
import type { BoxSettings } from "../domain/box.js";
import type { ToolResource } from "../domain/tool.js";
import type { CallOptions } from "../ports/options.js";
import type { NativeTool, ToolBox, ToolEvent } from "../ports/tool.js";
import type { SourcedCall, ToolListing, ToolSource } from "../ports/tool-source.js";

/** Under which id the service's own tools stand in resources and policies. */
export const NATIVE_SOURCE_ID = "berth";

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

export class NativeToolSource implements ToolSource {
  readonly source = "native";
  readonly sourceId = NATIVE_SOURCE_ID;
  readonly reservedNames: readonly string[];
  readonly #tools: ReadonlyMap<string, NativeTool>;
  readonly #offered: readonly ToolResource[];

  constructor(tools: readonly NativeTool[], facts: OfferFacts) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.reservedNames = [...this.#tools.keys()];
    this.#offered = offerNativeTools(tools, facts);
  }

  async list(): Promise<ToolListing> {
    return { tools: this.#offered, warnings: [] };
  }

  async *run(
    { id, resource, input }: SourcedCall,
    box: ToolBox | null,
    options: CallOptions,
  ): AsyncGenerator<ToolEvent, void> {
    const tool = this.#tools.get(resource.tool_name);
    const error = tool === undefined ? "There is no such tool." : "The tool needs a bound box.";
    if (tool === undefined || box === null) yield { type: "outcome", outcome: { ok: false, error } };
    else yield* tool.run({ id, input }, box, options);
  }
}

function toToolResource(tool: NativeTool): ToolResource {
  return {
    source: "native",
    source_id: NATIVE_SOURCE_ID,
    tool_name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
    effect: tool.effect,
  };
}
