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

export type KnowledgeBaseOperation = "list" | "retrieve";

export interface KnowledgeBaseResource {
  readonly kb_id: string;
  readonly name: string;
  readonly operations: readonly KnowledgeBaseOperation[];
}

export interface SkillResource {
  readonly skill_name: string;
  readonly display_name: string;
  readonly description: string;
}

export interface StorageResource {
  /** Values of the runner's package. */
  readonly plugin: boolean;
  /** Values of the tenant. */
  readonly workspace: boolean;
}

export interface Resources {
  readonly models: readonly ModelResource[];
  readonly tools: readonly ToolResource[];
  readonly knowledge_bases: readonly KnowledgeBaseResource[];
  readonly skills: readonly SkillResource[];
  readonly storage: StorageResource;
  /** Reserved (runs §2.3). */
  readonly platform_capabilities: readonly string[];
}
