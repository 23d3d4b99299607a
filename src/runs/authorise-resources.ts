/** What one run may use: manifest, policy and selection must agree (runs §15.1, §15.2). Each kind has a file of its own. */
import type { Binding, ResourcePolicy } from "../domain/binding.js";
import type { Resources, SkillResource, StorageResource } from "../domain/resources.js";
import type { RunWarning } from "../domain/result.js";
import type { RunnerDescriptor } from "../domain/runner-manifest.js";
import type { ToolResource } from "../domain/tool.js";
import { frozenCopy } from "../lib/frozen-copy.js";
import { authoriseKnowledgeBases, type KnowledgeBaseFacts } from "./authorise-knowledge.js";
import { authoriseModels, type ModelFacts } from "./authorise-models.js";
import { authoriseTools } from "./authorise-tools.js";

export interface Offer {
  readonly models: ReadonlyMap<string, ModelFacts>;
  /** What the sources of tools list for this run. */
  readonly tools: readonly ToolResource[];
  /** Names of the service's own tools, offered or not. */
  readonly hostNames: ReadonlySet<string>;
  readonly knowledgeBases: ReadonlyMap<string, KnowledgeBaseFacts>;
  readonly skills: readonly SkillResource[];
}

export interface Authorised {
  readonly resources: Resources;
  readonly warnings: readonly RunWarning[];
}

/** The snapshot is a copy that cannot be changed: what is edited later does not widen a run (runs §15.3). */
export function authoriseResources(binding: Binding, runner: RunnerDescriptor, offer: Offer): Authorised {
  const models = authoriseModels(binding, runner, offer.models);
  const tools = authoriseTools(binding, runner, offer);
  const knowledgeBases = authoriseKnowledgeBases(binding, runner, offer.knowledgeBases);
  return {
    resources: frozenCopy({
      models: models.granted,
      tools: tools.granted,
      knowledge_bases: knowledgeBases.granted,
      skills: visibleSkills(binding.policy, offer.skills),
      storage: permittedStorage(binding.policy, runner),
      platform_capabilities: [],
    }),
    warnings: [...models.warnings, ...tools.warnings, ...knowledgeBases.warnings],
  };
}

/** Skills are texts: they need no permission of the manifest, and what they make a run do is authorised by itself. */
function visibleSkills(
  { allowed_skill_names: allowed }: ResourcePolicy,
  skills: readonly SkillResource[],
): readonly SkillResource[] {
  return allowed === null ? skills : skills.filter(({ skill_name }) => allowed.includes(skill_name));
}

/** Manifest and binding must both allow it. */
function permittedStorage(policy: ResourcePolicy, { permissions }: RunnerDescriptor): StorageResource {
  return {
    plugin: policy.allow_plugin_storage && permissions.storage.includes("plugin"),
    workspace: policy.allow_workspace_storage && permissions.storage.includes("workspace"),
  };
}
