/** Everything a runner is told about its run (runs §10). Valid by the schema below; no other top-level fields. */
import { z } from "zod";
import { actorSchema, conversationSchema, eventSchema, runInputSchema, subjectSchema } from "./event.js";
import { runIdSchema } from "./ids.js";
import { messageSchema } from "./message.js";
import type { Resources } from "./resources.js";

export const AVAILABLE_APIS = [
  "prompt_get",
  "history_page",
  "history_search",
  "event_get",
  "event_page",
  "state",
  "storage",
  "steering_pull",
  "run_get",
  "run_list",
  "run_events_page",
  "run_cancel",
  "ledger_write",
  "box",
  "box_export_paths",
] as const;
export type AvailableApi = (typeof AVAILABLE_APIS)[number];

export const deliveryHintsSchema = z.object({
  surface: z.string(),
  reply_target: z.string().nullable(),
  supports_streaming: z.boolean(),
  supports_edit: z.boolean(),
  supports_reaction: z.boolean(),
  /** Characters; null = none known. */
  max_message_size: z.number().int().positive().nullable(),
  /** Bytes; null = none known. */
  max_file_size: z.number().int().positive().nullable(),
  interactions: z.array(z.string()),
  platform_capabilities: z.array(z.string()),
});
export type DeliveryHints = z.infer<typeof deliveryHintsSchema>;

const plainObject = z.record(z.string(), z.unknown());

export const runContextSchema = z.strictObject({
  run_id: runIdSchema,
  trigger: z.object({ type: z.string(), source: z.string(), timestamp: z.number() }),
  conversation: conversationSchema.nullable(),
  event: eventSchema,
  actor: actorSchema,
  subject: subjectSchema,
  input: runInputSchema,
  prompt: z.array(messageSchema),
  messages: z.array(messageSchema),
  params: plainObject,
  delivery: deliveryHintsSchema,
  /** Built and frozen by the host; its shape is `Resources`. */
  resources: z.custom<Resources>((value) => typeof value === "object" && value !== null),
  context: z.object({
    conversation_id: z.string().nullable(),
    thread_id: z.string().nullable(),
    latest_cursor: z.string().nullable(),
    event_seq: z.number().int().nullable(),
    transcript_seq: z.number().int().nullable(),
    has_history_before: z.boolean(),
    inline_policy: z.object({
      mode: z.literal("current_event"),
      delivered_count: z.number().int(),
      messages_complete: z.boolean(),
      reason: z.string(),
    }),
    available_apis: z.record(z.enum(AVAILABLE_APIS), z.boolean()),
  }),
  state: plainObject,
  runtime: z.object({
    host_version: z.string(),
    trace_id: z.string(),
    /** Unix seconds. */
    deadline_at: z.number(),
    metadata: z.object({
      bot_id: z.string().nullable(),
      workspace_id: z.string(),
      streaming_supported: z.boolean(),
      model_context_window_tokens: z.number().int().positive().nullable(),
      model_max_output_tokens: z.number().int().positive().nullable(),
    }),
  }),
  config: plainObject,
  adapter: z.object({ extra: z.object({ params: plainObject, metadata: plainObject }) }),
});
export type RunContext = z.infer<typeof runContextSchema>;
