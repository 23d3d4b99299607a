/** A run: states, the object clients see, and the numbered events of its ledger (api §2, runs §20). */
import { z } from "zod";
import { attachmentOutcomeSchema } from "./attachment.js";
import { deliverySchema } from "./delivery.js";
import { ServiceError } from "./errors.js";
import { chatSchema } from "./event.js";
import { runIdSchema, sessionIdSchema } from "./ids.js";
import { finishReasonSchema, warningSchema } from "./result.js";
import { usageSchema } from "./usage.js";

/** Ledger states (runs §20.1). The last four are terminal. */
export const RUN_STATES = [
  "created",
  "queued",
  "claimed",
  "running",
  "completed",
  "failed",
  "cancelled",
  "timeout",
] as const;
export const runStateSchema = z.enum(RUN_STATES);
export type RunState = z.infer<typeof runStateSchema>;
export type TerminalState = "completed" | "failed" | "cancelled" | "timeout";
export type OpenState = Exclude<RunState, TerminalState>;

export function isTerminal(state: RunState): state is TerminalState {
  return state === "completed" || state === "failed" || state === "cancelled" || state === "timeout";
}

/** @throws ServiceError `request.invalid` for a text that is no state, or one that only a run's end may write */
export function toOpenState(text: string): OpenState {
  const state = runStateSchema.safeParse(text).data;
  if (state !== undefined && !isTerminal(state)) return state;
  const open = RUN_STATES.filter((name) => !isTerminal(name)).join(", ");
  throw new ServiceError("request.invalid", `"${text.slice(0, 100)}" is no state of a run that goes on.`, {
    hint: `Take one of ${open}.`,
  });
}

/** Clients see `created`, `queued` and `claimed` as `queued` (runs §20.1). */
export const publicStatusSchema = z.enum([
  "queued",
  "running",
  "completed",
  "failed",
  "cancelled",
  "timeout",
]);
export type PublicStatus = z.infer<typeof publicStatusSchema>;

export function publicStatus(state: RunState): PublicStatus {
  return state === "created" || state === "claimed" ? "queued" : state;
}

export const runErrorSchema = z.object({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean(),
  hint: z.string().optional(),
  /** What a bot may show its user in place of an answer, or after the part of one; missing = nothing (runs §21.6). */
  notice: z.string().optional(),
  details: z.record(z.string(), z.unknown()).optional(),
});
export type RunError = z.infer<typeof runErrorSchema>;

export const outboxEntrySchema = z.object({ path: z.string(), bytes: z.number().int().nonnegative() });
export type OutboxEntry = z.infer<typeof outboxEntrySchema>;

/** The run object (api §2). */
export const runSchema = z.object({
  id: runIdSchema,
  object: z.literal("run"),
  status: publicStatusSchema,
  pipeline: z.string(),
  runner: z.string(),
  session: z.object({ id: sessionIdSchema, key: z.string() }).nullable(),
  /** Null for an event that came from no chat. */
  chat: chatSchema.nullable(),
  created_at: z.string(),
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  /** `partial` marks text of a run that failed after it had begun to answer (runs §18.9). */
  message: z
    .object({ role: z.literal("assistant"), content: z.string(), partial: z.literal(true).optional() })
    .nullable(),
  deliveries: z.array(deliverySchema),
  attachments: z.array(attachmentOutcomeSchema),
  outbox_left: z.array(outboxEntrySchema),
  model: z.string().nullable(),
  tool_rounds: z.number().int().nonnegative(),
  usage: usageSchema,
  finish_reason: finishReasonSchema.nullable(),
  warnings: z.array(warningSchema),
  error: runErrorSchema.nullable(),
});
export type Run = z.infer<typeof runSchema>;

export const RUN_EVENT_TYPES = [
  "run.started",
  "message.delta",
  "message.completed",
  "tool.call.started",
  "tool.output",
  "tool.call.completed",
  "attachment.imported",
  "delivery.created",
  "state.updated",
  "steering.injected",
  "action.requested",
  "warning",
  "run.completed",
  "run.failed",
  "run.cancelled",
] as const;
export type RunEventType = (typeof RUN_EVENT_TYPES)[number];

/** The events that end a stream; their data is the run object. A timed-out run ends with `run.failed`. */
export const TERMINAL_EVENTS: readonly RunEventType[] = ["run.completed", "run.failed", "run.cancelled"];

export interface RunEvent {
  readonly type: RunEventType;
  readonly data: Readonly<Record<string, unknown>>;
  readonly run_id: string;
  /** 1..n without gaps (runs §20.2). */
  readonly sequence: number;
  /** RFC 3339 UTC. */
  readonly timestamp: string;
}
