/** Which results an administrator may add to a run: those that only tell something (runs §15.5). Pure. */
import { z } from "zod";
import { ServiceError } from "../../domain/errors.js";
import type { RunId } from "../../domain/ids.js";
import type { RunEventType } from "../../domain/run.js";
import { boundResult } from "../bound-result.js";
import { resultSchema } from "../result-schema.js";

const TELLING = ["tool.call.started", "tool.call.completed", "action.requested", "warning"] as const;

const typedSchema = z.looseObject({ type: z.string() });

export interface AppendedResult {
  readonly type: RunEventType;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * @param given `{type, data}` as a runner would yield it
 * @throws ServiceError `host.invalid_argument` for a type with an effect (messages, state, the run's end), for an unknown
 * one, and for data that do not fit; `host.payload_too_large`
 */
export function readAppended(given: unknown, runId: RunId): AppendedResult {
  const typed = typedSchema.safeParse(given);
  if (!typed.success) throw refused("What is to be appended is no result.");
  const { type } = typed.data;
  if (!TELLING.some((telling) => telling === type))
    throw refused(`A result of type "${type.slice(0, 100)}" cannot be appended.`);
  const parsed = resultSchema.safeParse({ ...typed.data, run_id: runId });
  if (!parsed.success)
    throw refused(`The result does not fit its schema: ${z.prettifyError(parsed.error).slice(0, 500)}`);
  const bound = boundResult(parsed.data);
  if (!bound.ok)
    throw new ServiceError("host.payload_too_large", `The result of type "${type}" is too large to be kept.`);
  return withoutHistory(bound.result);
}

/** What would go into the transcript is an effect as well: it is left out. */
function withoutHistory(result: z.infer<typeof resultSchema>): AppendedResult {
  switch (result.type) {
    case "tool.call.started": {
      const { assistant_message: _message, ...data } = result.data;
      return { type: result.type, data };
    }
    case "tool.call.completed": {
      const { model_text: _text, ...data } = result.data;
      return { type: result.type, data };
    }
    case "action.requested":
    case "warning":
      return { type: result.type, data: result.data };
    default:
      throw refused(`A result of type "${result.type}" cannot be appended.`);
  }
}

function refused(message: string): ServiceError {
  return new ServiceError("host.invalid_argument", message, {
    hint: `Types that can be appended: ${TELLING.join(", ")}.`,
  });
}
