/** What a form needs to offer runners: one option for each, and a stage for each that has something to set (runs §4.1). */
import type { ConfigItem, RunnerDescriptor } from "../domain/runner-manifest.js";

export interface RunnerOption {
  /** The runner's id. */
  readonly name: string;
  readonly label: RunnerDescriptor["label"];
}

export interface ConfigStage extends RunnerOption {
  readonly items: readonly (ConfigItem & { readonly id: string })[];
}

export interface RunnerMetadata {
  readonly options: readonly RunnerOption[];
  readonly stages: readonly ConfigStage[];
}

export function describeRunners(descriptors: readonly RunnerDescriptor[]): RunnerMetadata {
  const options = descriptors.map(({ id, label }) => ({ name: id, label }));
  const stages = descriptors.flatMap((descriptor): ConfigStage[] => {
    const { id, label } = descriptor;
    const items = shownItems(descriptor);
    return items.length === 0 ? [] : [{ name: id, label, items }];
  });
  return { options, stages };
}

/** A missing id is that of the runner and the item's name, or its place in the schema. */
function shownItems({ id, config_schema, capabilities }: RunnerDescriptor): ConfigStage["items"] {
  return config_schema
    .map((item, index) => ({ ...item, id: item.id ?? `${id}.${item.name ?? index}` }))
    .filter(({ type }) => capabilities.knowledge_retrieval || !KNOWLEDGE_SELECTORS.has(type));
}

/** Shown by runners that say they retrieve (runs §2.2). */
const KNOWLEDGE_SELECTORS: ReadonlySet<ConfigItem["type"]> = new Set([
  "knowledge-base-multi-selector",
  "select-knowledge-bases",
]);
