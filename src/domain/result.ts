/** What a runner yields (runs §18), by schema: a payload that does not fit costs that result only. */
import { z } from "zod";
import { fileIdSchema } from "./ids.js";
import { messageSchema, toolCallSchema } from "./message.js";
import type { usageSchema } from "./usage.js";

export const FINISH_REASONS = ["stop", "terminate", "max_iterations", "loop"] as const;
export const finishReasonSchema = z.enum(FINISH_REASONS);
export type FinishReason = z.infer<typeof finishReasonSchema>;

export const warningSchema = z.object({ code: z.string(), message: z.string() });
export type RunWarning = z.infer<typeof warningSchema>;

const chunkSchema = z.strictObject({
  role: z.literal("assistant"),
  /** The whole text so far: a cumulative snapshot. */
  content: z.string(),
  tool_calls: z.array(toolCallSchema).optional(),
  is_final: z.boolean().optional(),
  msg_sequence: z.number().int().positive().optional(),
});

/** Data of each result type. `warnings` of `run.completed` name limits that struck (runs §18.10). */
export const RESULT_DATA = {
  "message.delta": z.strictObject({ chunk: chunkSchema }),
  "message.completed": z.strictObject({
    message: messageSchema,
    /** What the history keeps instead: the raw reply and fields that are never shown (local-agent §11.8, §12.18). */
    history_message: messageSchema.optional(),
    file_ids: z.array(fileIdSchema).optional(),
  }),
  "tool.call.started": z.strictObject({
    tool_call_id: z.string().min(1),
    tool_name: z.string().min(1),
    parameters: z.record(z.string(), z.unknown()),
    assistant_message: messageSchema.optional(),
  }),
  "tool.call.completed": z.strictObject({
    tool_call_id: z.string().min(1),
    tool_name: z.string().min(1),
    result: z.unknown().optional(),
    error: z.string().optional(),
    /** What the model saw; kept in the history (runs §17.6). */
    model_text: z.string().optional(),
    duration_ms: z.number().nonnegative().optional(),
  }),
  "state.updated": z.strictObject({ scope: z.string(), key: z.string(), value: z.unknown() }),
  "run.completed": z.strictObject({
    message: messageSchema.optional(),
    finish_reason: finishReasonSchema.optional(),
    warnings: z.array(warningSchema).optional(),
    /** Model that was committed, and batches of tool calls that ran. */
    model: z.string().optional(),
    tool_rounds: z.number().int().nonnegative().optional(),
  }),
  "run.failed": z.strictObject({
    error: z.string(),
    code: z.string(),
    retryable: z.boolean(),
    /** The next sensible step for whoever reads the failure. */
    hint: z.string().optional(),
    model: z.string().optional(),
    tool_rounds: z.number().int().nonnegative().optional(),
  }),
  "action.requested": z.looseObject({ action: z.string() }),
  /** A candidate that failed, a retry, a tool left out: one line of the run's trace (local-agent §10.8). */
  warning: warningSchema,
} as const;

export type ResultType = keyof typeof RESULT_DATA;
export const RESULT_TYPES = Object.keys(RESULT_DATA).filter(
  (name): name is ResultType => name in RESULT_DATA,
);

export type RunnerResult = {
  [Type in ResultType]: {
    readonly type: Type;
    readonly data: z.infer<(typeof RESULT_DATA)[Type]>;
    readonly run_id: string;
    readonly sequence?: number | undefined;
    readonly timestamp?: string | undefined;
    readonly usage?: z.infer<typeof usageSchema> | undefined;
  };
}[ResultType];
