/** Which tools the model is told of (local-agent §5, box §4.5). */
import { ServiceError } from "../../domain/errors.js";
import type { RunWarning } from "../../domain/result.js";
import type { ToolDefinition, ToolResource } from "../../domain/tool.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunHost } from "../../ports/run-host.js";
import { isStop } from "./failure.js";

export interface OfferedTool {
  readonly resource: ToolResource;
  readonly definition: ToolDefinition;
}

export interface ToolOffer {
  /** By name, in the order in which they are sent. */
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** Granted, but of no use in this run: tools of the box when no box is bound. */
  readonly idle: ReadonlySet<string>;
  readonly warnings: readonly RunWarning[];
}

/** Sorted by name; a tool whose detail cannot be had is left out with a warning, and the run goes on. */
export async function offerTools(
  resources: readonly ToolResource[],
  { host, hasBox }: { readonly host: RunHost; readonly hasBox: boolean },
  options: CallOptions,
): Promise<ToolOffer> {
  const sorted = resources.toSorted((one, other) => (one.tool_name < other.tool_name ? -1 : 1));
  const tools = new Map<string, OfferedTool>();
  const idle = new Set<string>();
  const warnings: RunWarning[] = [];
  for (const resource of sorted) {
    const name = resource.tool_name;
    if (!hasBox && resource.effect.kind !== "none") {
      idle.add(name);
      continue;
    }
    try {
      tools.set(name, { resource, definition: await defineTool(resource, host, options) });
    } catch (error) {
      if (isStop(error) || options.signal.aborted) throw error;
      const reason = error instanceof ServiceError ? error.message : "its description could not be read";
      warnings.push({ code: "runner.tool_left_out", message: `The tool "${name}" is left out: ${reason}` });
    }
  }
  return { tools, idle, warnings };
}

async function defineTool(
  resource: ToolResource,
  host: RunHost,
  options: CallOptions,
): Promise<ToolDefinition> {
  const { tool_name: name, description, parameters } = resource;
  if (parameters !== null) return { name, description, parameters };
  const detail = await host.getToolDetail(name, options);
  return { name, description: detail.description, parameters: detail.parameters };
}
