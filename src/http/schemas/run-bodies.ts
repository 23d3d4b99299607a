/** Bodies and queries of the run routes (api §2). Unknown fields are refused. */
import { z } from "zod";
import { chatSchema } from "../../domain/event.js";
import { runIdSchema } from "../../domain/ids.js";
import { publicStatusSchema, RUN_EVENT_TYPES, runSchema } from "../../domain/run.js";
import { steeredMessageSchema, steeringPlaceSchema } from "../../domain/steering.js";
import { MAX_JSON_DEPTH } from "../read-json.js";

const MAX_NAME_CHARS = 1024;
const MAX_CONTENTS = 256;
const MAX_VARIABLES = 200;

const name = z.string().max(MAX_NAME_CHARS).nullable().default(null);
const mimeType = z.string().max(255).nullable().default(null);
const data = z.string().meta({ description: "Base64, or a data URI." });
const url = z.string().min(1).meta({ description: "An http or https address, or a data URI." });
/** Taken so that platforms may pass their own objects on, and dropped: a path from outside never counts (box §7.2). */
const path = z.unknown().optional().meta({ description: "Ignored." });

const inline = <const Type extends string>(type: Type) =>
  z.strictObject({ type: z.literal(type), name, mime_type: mimeType, data, path });
const linked = <const Type extends string>(type: Type) =>
  z.strictObject({ type: z.literal(type), name, mime_type: mimeType, url, path });

export const contentSchema = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("text"), text: z.string() }),
    inline("file_base64"),
    inline("image_base64"),
    inline("voice_base64"),
    linked("file_url"),
    linked("image_url"),
    linked("voice_url"),
    z.strictObject({
      type: z.literal("file_id"),
      name,
      mime_type: mimeType,
      file_id: z.string().min(1).max(200),
      path,
    }),
  ])
  .meta({ id: "Content" });
export type Content = z.infer<typeof contentSchema>;

export const createRunSchema = z
  .strictObject({
    pipeline: z
      .string()
      .min(1)
      .max(64)
      .nullable()
      .default(null)
      .meta({ description: "Null = the configured default." }),
    chat: chatSchema,
    input: z.strictObject({
      text: z.string().nullable().default(null),
      contents: z.array(contentSchema).max(MAX_CONTENTS).default([]),
    }),
    variables: z
      .record(z.string().max(128), z.unknown())
      .refine(
        (variables) => Object.keys(variables).length <= MAX_VARIABLES,
        `at most ${MAX_VARIABLES} variables`,
      )
      .default({})
      .meta({
        description: `Plain JSON, nested at most ${MAX_JSON_DEPTH} levels with the rest of the body.`,
      }),
    stream: z.boolean().default(false),
    wait: z.boolean().default(true),
    on_disconnect: z.enum(["continue", "cancel"]).default("continue").meta({
      description: "What becomes of the run when the client of this request is gone.",
    }),
  })
  .meta({ id: "CreateRun" });
export type CreateRun = z.infer<typeof createRunSchema>;

export const runFormSchema = z.strictObject({
  request: z.string().meta({ description: "The JSON of CreateRun." }),
});

export const runFormDocSchema = z
  .strictObject({
    request: createRunSchema,
    file: z.array(z.string().meta({ format: "binary" })).meta({ description: "Attachments, in order." }),
  })
  .meta({ id: "CreateRunForm" });

export const idempotencyHeaderSchema = z.object({
  "idempotency-key": z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: "The same key and the same body within 24 h is the same run." }),
});

export const listRunsQuery = z.strictObject({
  session: z.string().max(200).optional().meta({ description: "Id of a session." }),
  chat: z.string().max(600).optional().meta({ description: "`launcher_type:launcher_id`." }),
  status: publicStatusSchema.optional(),
  limit: z.coerce.number().int().min(1).max(100).default(20),
  after: z.string().max(200).optional().meta({ description: "`next_cursor` of the page before." }),
});

export const eventsQuery = z.strictObject({
  after: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .meta({ description: "Number of the last event that is known; `Last-Event-ID` goes before it." }),
});

export const lastEventIdSchema = z.object({ "last-event-id": z.coerce.number().int().min(0).optional() });

export const acknowledgeSchema = z
  .strictObject({
    state: z.enum(["sent", "failed"]),
    detail: z.string().max(2000).nullable().default(null),
  })
  .meta({ id: "AcknowledgeDelivery" });

export const emptyBodySchema = z.strictObject({});

export const cancelSchema = z
  .strictObject({
    queue: z.enum(["keep", "clear"]).default("keep").meta({
      description: "`clear`: messages that wait go into the history, and nobody answers them.",
    }),
  })
  .meta({ id: "CancelRun" });

/** Characters of a text for a run that is going on; a longer message is one for `POST /v1/runs`. */
const MAX_STEER_CHARS = 100_000;

export const steerSchema = z
  .strictObject({ text: z.string().min(1).max(MAX_STEER_CHARS) })
  .meta({ id: "SteerRun" });

export const steeredAnswerSchema = steeredMessageSchema.meta({
  id: "SteeredMessage",
  description: "A message that a run absorbs while it goes on.",
});

export const steeredListSchema = z
  .object({ object: z.literal("list"), data: z.array(steeredAnswerSchema) })
  .meta({ id: "SteeredMessageList" });

export const runAnswerSchema = runSchema.meta({ id: "Run" });

export const admittedSchema = z.union([runAnswerSchema, steeredAnswerSchema]);

export const cancelledRunSchema = runSchema
  .extend({
    messages: z
      .array(z.object({ id: runIdSchema, place: steeringPlaceSchema }))
      .meta({ description: "Messages that were meant for the run or waited behind it, and where they are." }),
  })
  .meta({ id: "CancelledRun" });

export const runListSchema = z
  .object({
    object: z.literal("list"),
    data: z.array(runAnswerSchema),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: "RunList" });

/** Data of one server-sent event. */
export const runEventSchema = z
  .object({
    type: z.enum(RUN_EVENT_TYPES),
    data: z.record(z.string(), z.unknown()),
    run_id: z.string(),
    sequence: z.int(),
    timestamp: z.string(),
  })
  .meta({ id: "RunEvent" });
