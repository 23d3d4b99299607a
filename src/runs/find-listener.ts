/** Which pipeline answers an event (runs §7.2). Pure. */
import { ServiceError } from "../domain/errors.js";
import type { EventType } from "../domain/event.js";
import type { Pipelines } from "./resolve-binding.js";

/**
 * @param named the pipeline that the caller asked for; it answers whatever it listens to
 * @throws ServiceError `pipeline.not_found` when none listens, `pipeline.ambiguous` when several do
 */
export function findListener(pipelines: Pipelines, type: EventType, named: string | null): string {
  if (named !== null) return named;
  const listening = [...pipelines.byId.values()].filter(({ events }) => events.includes(type));
  const [first, second] = listening;
  if (first === undefined)
    throw new ServiceError("pipeline.not_found", `No pipeline listens to ${type}.`, {
      param: "pipeline",
      hint: `Name one of: ${[...pipelines.byId.keys()].join(", ").slice(0, 500)}; or add the type to the \`events\` of one.`,
    });
  if (second !== undefined)
    throw new ServiceError(
      "pipeline.ambiguous",
      `${listening.length} pipelines listen to ${type}; an event is answered by exactly one.`,
      {
        param: "pipeline",
        hint: `Name one of: ${listening
          .map(({ id }) => id)
          .join(", ")
          .slice(0, 500)}.`,
      },
    );
  return first.id;
}
