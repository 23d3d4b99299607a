/** What one run may use: frozen when the run is registered (runs §15). */
import type { ToolResource } from "./tool.js";

export type ModelOperation = "count_tokens" | "invoke" | "stream" | "rerank";
export type ModelAbility = "func_call" | "vision" | "reasoning";

export interface ModelResource {
  readonly model_id: string;
  readonly type: "llm" | "rerank";
  /** Host part of the service address, or `demo`. */
  readonly provider: string;
  readonly operations: readonly ModelOperation[];
  readonly abilities: readonly ModelAbility[];
  readonly context_window: number | null;
  readonly max_output_tokens: number | null;
}

export interface Resources {
  readonly models: readonly ModelResource[];
  readonly tools: readonly ToolResource[];
  readonly storage: { readonly plugin: boolean; readonly workspace: boolean };
}
