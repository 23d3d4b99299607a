/** A whole result of a runner, envelope and data together (runs §18.1). */
import { z } from "zod";
import { RESULT_DATA, type ResultType } from "../domain/result.js";
import { usageSchema } from "../domain/usage.js";

const ENVELOPE = {
  run_id: z.string(),
  sequence: z.number().optional(),
  timestamp: z.string().optional(),
  usage: usageSchema.optional(),
};

function resultOf<const Type extends ResultType>(type: Type) {
  return z.object({ type: z.literal(type), data: RESULT_DATA[type], ...ENVELOPE });
}

/** One branch for each type of `RESULT_DATA`. */
export const resultSchema = z.discriminatedUnion("type", [
  resultOf("message.delta"),
  resultOf("message.completed"),
  resultOf("tool.call.started"),
  resultOf("tool.call.completed"),
  resultOf("state.updated"),
  resultOf("run.completed"),
  resultOf("run.failed"),
  resultOf("action.requested"),
  resultOf("warning"),
]);
