/** Binding, runner, resources and warnings of one run: computed from config once, the same way at admission and at start. */
import type { Binding } from "../domain/binding.js";
import { ServiceError } from "../domain/errors.js";
import type { Resources } from "../domain/resources.js";
import type { RunWarning } from "../domain/result.js";
import { isHostSource } from "../domain/tool.js";
import type { CallOptions } from "../ports/options.js";
import type { Runner } from "../ports/runner.js";
import type { SessionBox, ToolScope } from "../ports/tool-source.js";
import type { ToolCatalog } from "../tools/tool-catalog.js";
import { authoriseResources, type Offer } from "./authorise-resources.js";
import { wantsSource } from "./authorise-tools.js";
import { type Pipelines, resolveBinding } from "./resolve-binding.js";
import type { RunnerRegistry } from "./runner-registry.js";

/** Packages that each bot may use, by bot id; null = every one. A bot that is not listed may use all. */
export type BotPackages = ReadonlyMap<string, readonly string[] | null>;

export interface PlanDeps {
  readonly pipelines: Pipelines;
  readonly runners: RunnerRegistry;
  readonly bots: BotPackages;
  readonly catalog: Pick<ToolCatalog, "list" | "hostNames">;
  readonly offer: Omit<Offer, "tools" | "hostNames">;
}

export interface RunPlan {
  readonly binding: Binding;
  readonly runner: Runner;
  readonly resources: Resources;
  readonly warnings: readonly RunWarning[];
  /** Names of tools that were found and not granted: there, but not this run's. */
  readonly otherTools: ReadonlySet<string>;
}

/** For whom a run is planned. */
export interface PlannedFor {
  readonly tenant: string;
  readonly botId: string | null;
}

/**
 * As far as an admission needs it: of the tools only the service's own, so that nobody waits for a server of others.
 * @throws ServiceError `pipeline.not_found`, `runner.not_found`, `runner.not_authorized`
 */
export async function planRun(
  deps: PlanDeps,
  { pipeline, ...planned }: PlannedFor & { readonly pipeline: string | null },
  options: CallOptions,
): Promise<RunPlan> {
  const binding = resolveBinding(deps.pipelines, pipeline);
  const { runner, allowedPackages } = await findRunner(deps, { ...planned, binding }, options);
  const scope = { tenant: planned.tenant, allowedPackages, wants: isHostSource, box: null };
  return authorise(deps, { binding, runner, scope }, options);
}

export interface PlannedRun extends PlannedFor {
  readonly binding: Binding;
  /** Of the run's session; null = it has none. */
  readonly box: SessionBox | null;
}

/** The whole plan of a run, for a binding that is resolved already. @throws ServiceError `runner.not_found`, `runner.not_authorized` */
export async function planBinding(
  deps: PlanDeps,
  planned: PlannedRun,
  options: CallOptions,
): Promise<RunPlan> {
  const { binding, tenant, box } = planned;
  const { runner, allowedPackages } = await findRunner(deps, planned, options);
  const scope = { tenant, allowedPackages, box, wants: wantsSource(binding, runner.descriptor) };
  return authorise(deps, { binding, runner, scope }, options);
}

interface FoundRunner {
  readonly runner: Runner;
  readonly allowedPackages: readonly string[] | null;
}

async function findRunner(
  { bots, runners }: PlanDeps,
  { binding, tenant, botId }: PlannedFor & { readonly binding: Binding },
  options: CallOptions,
): Promise<FoundRunner> {
  const { runnerId } = binding;
  if (runnerId === null) throw noRunner(binding);
  const allowedPackages = botId === null ? null : (bots.get(botId) ?? null);
  const runner = await runners.get(runnerId, { tenant, allowedPackages }, options);
  return { runner, allowedPackages };
}

async function authorise(
  { catalog, offer }: PlanDeps,
  { binding, runner, scope }: { binding: Binding; runner: Runner; scope: ToolScope },
  options: CallOptions,
): Promise<RunPlan> {
  const listed = await catalog.list(scope, options);
  const offered = { ...offer, tools: listed.tools, hostNames: catalog.hostNames };
  const { resources, warnings } = authoriseResources(binding, runner.descriptor, offered);
  const otherTools = new Set(listed.tools.map(({ tool_name }) => tool_name));
  for (const { tool_name } of resources.tools) otherTools.delete(tool_name);
  const told = [...binding.warnings, ...configWarnings(binding, runner), ...listed.warnings, ...warnings];
  return { binding, runner, resources, warnings: told, otherTools };
}

function noRunner({ pipeline }: Binding): ServiceError {
  return new ServiceError(
    "runner.not_found",
    `The configured runner is missing: the pipeline "${pipeline}" selects none.`,
    { hint: "Name one in runner.id of the pipeline." },
  );
}

/** What the check at start could not know, since the runners of packages were not there. The runner decides what it does. */
function configWarnings({ config }: Binding, runner: Runner): readonly RunWarning[] {
  return runner.findConfigFaults(config).map((message) => ({ code: "binding.config_fault", message }));
}
