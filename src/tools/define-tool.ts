/** Makes a native tool from its schema and its work; input that does not fit the schema never reaches the work. */
import type { z } from "zod";
import type { ToolEffect } from "../domain/tool.js";
import type { CallOptions } from "../ports/options.js";
import type { NativeTool, ToolBox, ToolEvent } from "../ports/tool.js";
import { parseInput, toolParameters } from "./tool-input.js";

/** A call whose input was read. */
export interface ParsedCall<Input> {
  readonly id: string;
  readonly input: Input;
}

export interface ToolPlan<Schema extends z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  readonly effect: ToolEffect;
  readonly needsWritableWorkspace?: boolean;
  run(call: ParsedCall<z.output<Schema>>, box: ToolBox, options: CallOptions): AsyncIterable<ToolEvent>;
}

/** @returns a tool that answers `{ok: false, error}` for input that breaks its schema (box §13, local-agent §7.1) */
export function defineTool<Schema extends z.ZodObject>(plan: ToolPlan<Schema>): NativeTool {
  return {
    name: plan.name,
    description: plan.description,
    parameters: toolParameters(plan.input),
    effect: plan.effect,
    needsWritableWorkspace: plan.needsWritableWorkspace ?? false,
    async *run(call, box, options) {
      const parsed = parseInput(plan.name, plan.input, call.input);
      if (parsed.ok) yield* plan.run({ id: call.id, input: parsed.value }, box, options);
      else yield failure(parsed.error);
    },
  };
}

/** The last event of a call that worked. */
export function success(result: Readonly<Record<string, unknown>>): ToolEvent {
  return { type: "outcome", outcome: { ok: true, result } };
}

/** The last event of a call that failed: one sentence with the thing, the limit and the next step (box §1.5). */
export function failure(error: string): ToolEvent {
  return { type: "outcome", outcome: { ok: false, error } };
}
