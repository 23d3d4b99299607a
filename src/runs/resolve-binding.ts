/** Finds the binding of a pipeline (runs §5.2, §5.3). */
import type { Binding, ResourcePolicy, RunnerConfig } from "../domain/binding.js";
import { ServiceError } from "../domain/errors.js";
import type { EventType } from "../domain/event.js";
import { runnerAliases } from "../domain/runner-id.js";
import type { StateSettings } from "../domain/state.js";

/** A pipeline entry of the config file, already checked (api §8). */
export interface Pipeline {
  readonly id: string;
  readonly runnerId: string;
  readonly runnerConfigs: Readonly<Record<string, RunnerConfig>>;
  readonly policy: ResourcePolicy;
  readonly state: StateSettings;
  readonly deadlineSec: number | null;
  /** Types of the events that it answers when they name no pipeline. */
  readonly events: readonly EventType[];
}

export interface Pipelines {
  readonly defaultId: string;
  readonly byId: ReadonlyMap<string, Pipeline>;
}

/** @throws ServiceError `pipeline.not_found` with the names there are */
export function resolveBinding(pipelines: Pipelines, id: string | null): Binding {
  const name = id ?? pipelines.defaultId;
  const pipeline = pipelines.byId.get(name);
  if (pipeline === undefined)
    throw new ServiceError("pipeline.not_found", `There is no pipeline "${name.slice(0, 100)}".`, {
      param: "pipeline",
      hint: `Use one of: ${[...pipelines.byId.keys()].join(", ")}.`,
    });
  return {
    pipeline: pipeline.id,
    runnerId: pipeline.runnerId,
    ...findConfig(pipeline),
    policy: pipeline.policy,
    state: pipeline.state,
    deadlineSec: pipeline.deadlineSec,
  };
}

/** The id as written first, then the canonical one, then the other aliases (runs §1.6). */
function findConfig({ runnerId, runnerConfigs }: Pipeline): Pick<Binding, "config" | "configSource"> {
  const own = runnerConfigs[runnerId];
  if (own !== undefined) return { config: own, configSource: "id" };
  for (const alias of runnerAliases(runnerId)) {
    const config = runnerConfigs[alias];
    if (config !== undefined) return { config, configSource: "alias" };
  }
  return { config: {}, configSource: "none" };
}
