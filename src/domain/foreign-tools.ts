/** What the service takes of tools that others describe: so many, so long, under names that models accept. Pure. */
import type { RunWarning } from "./result.js";
import type { JsonSchema, ToolEffect, ToolResource, ToolSourceRef } from "./tool.js";

/** Of one server or package. */
export const MAX_FOREIGN_TOOLS = 256;
const MAX_DESCRIPTION_CHARS = 4096;
const MAX_SCHEMA_CHARS = 65_536;
/** Names that every model takes. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/u;

export interface ForeignTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

export interface ForeignListing {
  readonly tools: readonly ToolResource[];
  readonly warnings: readonly RunWarning[];
}

/** A name that models take: characters they refuse become underscores, what is too long is cut. Two names may become one. */
export function safeToolName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, "_").slice(0, 64);
}

/** Descriptions are cut; a tool that cannot be offered is left out with a warning, and the others stay. */
export function takeForeignTools(
  listed: readonly ForeignTool[],
  from: ToolSourceRef & { readonly effect: ToolEffect },
): ForeignListing {
  const taken = new Map<string, ToolResource>();
  const warnings: RunWarning[] = [];
  const leaveOut = (name: string, reason: string): void => {
    const shown = JSON.stringify(name.slice(0, 100));
    warnings.push({
      code: "tools.left_out",
      message: `The tool ${shown} of ${from.source} "${from.source_id}" is left out: ${reason}.`,
    });
  };
  for (const tool of listed.slice(0, MAX_FOREIGN_TOOLS)) {
    const { name } = tool;
    const schemaChars = JSON.stringify(tool.parameters).length;
    if (!TOOL_NAME.test(name)) leaveOut(name, "a name has 1 to 64 letters, digits, underscores and dashes");
    else if (taken.has(name)) leaveOut(name, "another one has that name already");
    else if (schemaChars > MAX_SCHEMA_CHARS)
      leaveOut(name, `its schema has ${schemaChars} characters, and ${MAX_SCHEMA_CHARS} are the limit`);
    else taken.set(name, toResource(tool, from));
  }
  if (listed.length > MAX_FOREIGN_TOOLS)
    warnings.push({
      code: "tools.left_out",
      message: `${from.source} "${from.source_id}" lists ${listed.length} tools; the first ${MAX_FOREIGN_TOOLS} are taken.`,
    });
  return { tools: [...taken.values()], warnings };
}

function toResource(
  { name, description, parameters }: ForeignTool,
  { source, source_id, effect }: ToolSourceRef & { readonly effect: ToolEffect },
): ToolResource {
  const text = Array.from(description.slice(0, 2 * MAX_DESCRIPTION_CHARS));
  return {
    source,
    source_id,
    tool_name: name,
    description: text.slice(0, MAX_DESCRIPTION_CHARS).join(""),
    parameters,
    effect,
  };
}
