/** Finds the binding of a pipeline (runs §5). */
import type { Binding, ExceptionHandling, ResourcePolicy } from "../domain/binding.js";
import type { ResolvedBinding } from "../domain/binding-config.js";
import { ServiceError } from "../domain/errors.js";
import type { EventType } from "../domain/event.js";
import type { StateSettings } from "../domain/state.js";

/** A pipeline entry of the config file, already checked (api §8). */
export interface Pipeline extends ResolvedBinding {
  readonly id: string;
  readonly policy: ResourcePolicy;
  readonly state: StateSettings;
  readonly deadlineSec: number | null;
  readonly exceptionHandling: ExceptionHandling;
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
  const { runnerId, config, configSource, expireSec, warnings, policy, state, deadlineSec } = pipeline;
  return {
    pipeline: pipeline.id,
    runnerId,
    config,
    configSource,
    expireSec,
    warnings,
    policy,
    state,
    deadlineSec,
  };
}
