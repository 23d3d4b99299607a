/** Binding, runner, resources and warnings of one run: computed from config once, the same way at admission and at start. */
import type { Binding } from "../domain/binding.js";
import type { Resources } from "../domain/resources.js";
import type { RunWarning } from "../domain/result.js";
import type { Runner } from "../ports/runner.js";
import { authoriseResources, type Offer } from "./authorise-resources.js";
import { type Pipelines, resolveBinding } from "./resolve-binding.js";
import type { RunnerRegistry } from "./runner-registry.js";

export interface PlanDeps {
  readonly pipelines: Pipelines;
  readonly runners: RunnerRegistry;
  readonly offer: Offer;
}

export interface RunPlan {
  readonly binding: Binding;
  readonly runner: Runner;
  readonly resources: Resources;
  readonly warnings: readonly RunWarning[];
}

/** @throws ServiceError `pipeline.not_found`, `runner.not_found` */
export function planRun(deps: PlanDeps, pipeline: string | null): RunPlan {
  const binding = resolveBinding(deps.pipelines, pipeline);
  const runner = deps.runners.get(binding.runnerId);
  return { binding, runner, ...authoriseResources(binding, runner.descriptor, deps.offer) };
}
