/** Tools: what a model is told of them, what a call gives back, and which effects order a batch (local-agent §5, §7). */
import { z } from "zod";

/** JSON schema of tool input; built-in ones use the keywords of local-agent §5.2 only. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

/** What a tool touches; decides which calls of one batch wait for which (local-agent §7.5). Never guessed from names. */
export type ToolEffect =
  | { readonly kind: "none" }
  /** Runs commands in the box. */
  | { readonly kind: "box.exec" }
  /** Touches files of the box; `pathFields` name the input fields that hold a path. */
  | { readonly kind: "box.files"; readonly access: "read" | "write"; readonly pathFields: readonly string[] }
  /** Searches below a path of the box. */
  | { readonly kind: "box.search"; readonly pathFields: readonly string[] }
  /** Takes files out of the box; `pathFields` may name a list of paths. */
  | { readonly kind: "box.export"; readonly pathFields: readonly string[] };

/** Where a tool comes from; frozen with the run's resources (runs §15.2). */
export const toolSourceSchema = z.strictObject({ source: z.string(), source_id: z.string() });
export type ToolSourceRef = z.infer<typeof toolSourceSchema>;

/** Whether the source is the service itself: its names are taken, and its tools are the policy's matter alone. */
export function isHostSource({ source }: Pick<ToolSourceRef, "source">): boolean {
  return source === "native" || source === "skill";
}

/** A tool as it stands in the run's resources. */
export interface ToolResource extends ToolSourceRef {
  readonly tool_name: string;
  readonly description: string;
  readonly parameters: JsonSchema | null;
  readonly effect: ToolEffect;
  /** Reads resources of an MCP server: what agent reading switches off (runs §15.2). Said by the source, never guessed from names. */
  readonly reads_resources?: true | undefined;
}

/** What a tool call came to. A failure is data, not an exception. `terminate: true` in a result ends the run (local-agent §6.7). */
export type ToolOutcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: string; readonly result?: unknown };
