/** What one run may use: manifest, policy and selection must agree (runs §15.1, §15.2). */
import type { Binding } from "../domain/binding.js";
import type { ModelAbility, ModelResource, Resources } from "../domain/resources.js";
import type { RunWarning } from "../domain/result.js";
import type { ConfigItem, RunnerDescriptor } from "../domain/runner-manifest.js";
import type { ToolResource } from "../domain/tool.js";
import { frozenCopy } from "../lib/frozen-copy.js";

/** What the host knows of a configured model. */
export interface ModelFacts {
  readonly id: string;
  readonly type: "llm" | "rerank";
  readonly provider: string;
  readonly abilities: readonly ModelAbility[];
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
}

export interface Offer {
  readonly models: ReadonlyMap<string, ModelFacts>;
  /** Native tools that this run's box would carry; empty without boxes (box §4.5). */
  readonly tools: readonly ToolResource[];
}

export interface Authorised {
  readonly resources: Resources;
  readonly warnings: readonly RunWarning[];
}

/** The snapshot is a copy that cannot be changed: what is edited later does not widen a run (runs §15.3). */
export function authoriseResources(binding: Binding, runner: RunnerDescriptor, offer: Offer): Authorised {
  const wanted = [
    ...new Set([...selectedModels(binding, runner.config_schema), ...binding.policy.allowed_model_uuids]),
  ];
  const found = wanted.flatMap((id) => offer.models.get(id) ?? []);
  const missing = wanted.filter((id) => !offer.models.has(id));
  return {
    resources: frozenCopy({
      models: found.flatMap((model) => modelResource(model, runner)),
      tools: grantedTools(binding, runner, offer.tools),
      storage: { plugin: false, workspace: false },
    }),
    warnings: missing.map((id) => ({
      code: "resources.model_missing",
      message: `The model "${id}" is selected but not configured; it is skipped.`,
    })),
  };
}

function modelResource(model: ModelFacts, runner: RunnerDescriptor): ModelResource[] {
  const operations = runner.permissions.models.filter((name) =>
    model.type === "rerank" ? name === "rerank" : name !== "rerank",
  );
  if (operations.length === 0) return [];
  return [
    {
      model_id: model.id,
      type: model.type,
      provider: model.provider,
      operations,
      abilities: model.abilities,
      context_window: model.contextWindow,
      max_output_tokens: model.maxOutputTokens,
    },
  ];
}

function grantedTools(
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

/** Values of a selector that select nothing (runs §4.3). */
const EMPTY_SELECTIONS: ReadonlySet<string> = new Set(["", "__none__"]);

/** Model ids that the runner's own schema says are selected; no runner is special-cased (runs §4.4). */
function selectedModels(binding: Binding, schema: readonly ConfigItem[]): readonly string[] {
  return schema.flatMap((item) => {
    const value = binding.config[item.name];
    switch (item.type) {
      case "model-fallback-selector":
        return fallbackSelection(value);
      case "llm-model-selector":
      case "select-llm-model":
      case "rerank-model-selector":
        return selection(value);
      default:
        return [];
    }
  });
}

function fallbackSelection(value: unknown): readonly string[] {
  if (typeof value === "string") return selection(value);
  if (typeof value !== "object" || value === null) return [];
  const primary = "primary" in value ? value.primary : null;
  const fallbacks: readonly unknown[] =
    "fallbacks" in value && Array.isArray(value.fallbacks) ? value.fallbacks : [];
  return [primary, ...fallbacks].flatMap(selection);
}

function selection(value: unknown): readonly string[] {
  if (typeof value !== "string") return [];
  const id = value.trim();
  return EMPTY_SELECTIONS.has(id) ? [] : [id];
}
