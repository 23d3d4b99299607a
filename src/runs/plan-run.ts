/** Binding, runner, resources and warnings of one run: computed from config once, the same way at admission and at start. */
import type { Binding } from "../domain/binding.js";
import type { Resources } from "../domain/resources.js";
import type { RunWarning } from "../domain/result.js";
import type { CallOptions } from "../ports/options.js";
import type { Runner } from "../ports/runner.js";
import { authoriseResources, type Offer } from "./authorise-resources.js";
import { type Pipelines, resolveBinding } from "./resolve-binding.js";
import type { RunnerRegistry } from "./runner-registry.js";

/** Packages that each bot may use, by bot id; null = every one. A bot that is not listed may use all. */
export type BotPackages = ReadonlyMap<string, readonly string[] | null>;

export interface PlanDeps {
  readonly pipelines: Pipelines;
  readonly runners: RunnerRegistry;
  readonly bots: BotPackages;
  readonly offer: Offer;
}

export interface RunPlan {
  readonly binding: Binding;
  readonly runner: Runner;
  readonly resources: Resources;
  readonly warnings: readonly RunWarning[];
}

/** For whom a run is planned. */
export interface PlannedFor {
  readonly tenant: string;
  readonly botId: string | null;
}

/** @throws ServiceError `pipeline.not_found`, `runner.not_found`, `runner.not_authorized` */
export async function planRun(
  deps: PlanDeps,
  { pipeline, ...planned }: PlannedFor & { readonly pipeline: string | null },
  options: CallOptions,
): Promise<RunPlan> {
  return planBinding(deps, { ...planned, binding: resolveBinding(deps.pipelines, pipeline) }, options);
}

/** The same for a binding that is resolved already. @throws ServiceError `runner.not_found`, `runner.not_authorized` */
export async function planBinding(
  deps: PlanDeps,
  { binding, tenant, botId }: PlannedFor & { readonly binding: Binding },
  options: CallOptions,
): Promise<RunPlan> {
  const allowedPackages = botId === null ? null : (deps.bots.get(botId) ?? null);
  const runner = await deps.runners.get(binding.runnerId, { tenant, allowedPackages }, options);
  return { binding, runner, ...authoriseResources(binding, runner.descriptor, deps.offer) };
}
