/** The knowledge bases of a run: the union of config selectors and policy, as far as they exist (runs §15.2). */
import type { Binding } from "../domain/binding.js";
import type { KnowledgeBaseResource } from "../domain/resources.js";
import type { RunnerDescriptor } from "../domain/runner-manifest.js";
import { selectedKnowledgeBases } from "./selected-resources.js";
import { type Granted, splitKnown } from "./split-known.js";

/** What the host knows of a configured knowledge base. */
export interface KnowledgeBaseFacts {
  readonly id: string;
  readonly name: string;
}

/** Without a permission of the manifest there are none; an id that is not configured is skipped with a warning. */
export function authoriseKnowledgeBases(
  binding: Binding,
  runner: RunnerDescriptor,
  knowledgeBases: ReadonlyMap<string, KnowledgeBaseFacts>,
): Granted<KnowledgeBaseResource> {
  const operations = runner.permissions.knowledge_bases;
  if (operations.length === 0) return { granted: [], warnings: [] };
  const { config, policy } = binding;
  const wanted = [...selectedKnowledgeBases(config, runner.config_schema), ...policy.allowed_kb_uuids];
  const { found, missing } = splitKnown(wanted, knowledgeBases);
  return {
    granted: found.map(({ id, name }) => ({ kb_id: id, name, operations })),
    warnings: missing.map((id) => ({
      code: "resources.knowledge_base_missing",
      message: `The knowledge base "${id}" is selected but not configured; it is skipped.`,
    })),
  };
}
