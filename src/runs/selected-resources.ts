/** Ids that a runner config selects, found by walking the runner's own schema; no runner is special-cased (runs §4.4). */
import type { RunnerConfig } from "../domain/binding.js";
import { type ConfigItem, itemValue } from "../domain/runner-manifest.js";
import { isEmptySelection } from "../domain/selector-values.js";

/** Language and rerank models, in order of the schema; an id may come twice. */
export function selectedModels(config: RunnerConfig, schema: readonly ConfigItem[]): readonly string[] {
  return schema.flatMap((item) => {
    const value = itemValue(item, config);
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

/** Knowledge bases, in order of the schema; what is not a list selects nothing. */
export function selectedKnowledgeBases(
  config: RunnerConfig,
  schema: readonly ConfigItem[],
): readonly string[] {
  return schema.flatMap((item) => {
    if (item.type !== "knowledge-base-multi-selector" && item.type !== "select-knowledge-bases") return [];
    const value = itemValue(item, config);
    return Array.isArray(value) ? value.flatMap(selection) : [];
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
  return isEmptySelection(id) ? [] : [id];
}
