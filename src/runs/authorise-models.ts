/** The models of a run: ids of config selectors and of the policy, each with the operations of the manifest (runs §15.2). */
import type { Binding } from "../domain/binding.js";
import type { ModelAbility, ModelResource } from "../domain/resources.js";
import type { RunnerDescriptor } from "../domain/runner-manifest.js";
import { selectedModels } from "./selected-resources.js";
import { type Granted, splitKnown } from "./split-known.js";

/** What the host knows of a configured model. */
export interface ModelFacts {
  readonly id: string;
  readonly type: "llm" | "rerank";
  readonly provider: string;
  readonly abilities: readonly ModelAbility[];
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
}

/** An id that is not configured is skipped with a warning. */
export function authoriseModels(
  binding: Binding,
  runner: RunnerDescriptor,
  models: ReadonlyMap<string, ModelFacts>,
): Granted<ModelResource> {
  const { config, policy } = binding;
  const wanted = [...selectedModels(config, runner.config_schema), ...policy.allowed_model_uuids];
  const { found, missing } = splitKnown(wanted, models);
  return {
    granted: found.flatMap((model) => modelResource(model, runner)),
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
