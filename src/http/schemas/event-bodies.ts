/** Body of POST /v1/events (api §2). Unknown fields are refused. */
import { z } from "zod";
import { chatSchema, SERVED_EVENT_TYPES } from "../../domain/event.js";
import { contentSchema, createRunSchema } from "./run-bodies.js";

const MAX_CONTENTS = 256;
const MAX_DATA_FIELDS = 200;

const id = z.string().min(1).max(512).nullable().default(null);
const shortWord = z.string().min(1).max(64);
const fields = z
  .record(z.string().max(128), z.unknown())
  .refine((data) => Object.keys(data).length <= MAX_DATA_FIELDS, `at most ${MAX_DATA_FIELDS} fields`)
  .default({});

const eventType = z
  .enum(SERVED_EVENT_TYPES, {
    error: ({ input }) =>
      input === "interaction.submitted"
        ? "interaction.submitted is reserved, and not served by this version"
        : undefined,
  })
  .meta({ description: "What happened. What the platform calls it goes into `source_event_type`." });

export const createEventSchema = z
  .strictObject({
    event_type: eventType,
    pipeline: createRunSchema.shape.pipeline.meta({
      description: "Null = the one pipeline whose `events` list the type.",
    }),
    chat: chatSchema.nullable().default(null).meta({
      description: "Where it happened. Null = it belongs to no conversation; a message always has a chat.",
    }),
    actor: z
      .strictObject({
        actor_type: shortWord.default("user"),
        id,
        name: z.string().max(512).nullable().default(null),
      })
      .nullable()
      .default(null)
      .meta({ description: "Who caused it. Null = the chat's sender; of a recalled message the system." }),
    subject: z
      .strictObject({ type: shortWord.nullable().default(null), id, data: fields })
      .nullable()
      .default(null)
      .meta({ description: "What it is about: the message, the group, the request." }),
    input: z
      .strictObject({
        text: z.string().nullable().default(null),
        contents: z.array(contentSchema).max(MAX_CONTENTS).default([]),
        message_chain: z.array(contentSchema).max(MAX_CONTENTS).default([]).meta({
          description:
            "The message as the platform holds it. A file that is also among the contents counts once.",
        }),
      })
      .prefault({}),
    data: fields.meta({
      description:
        "More about the event. Numbers, booleans and texts of at most 512 bytes are kept; names that begin with `_` are dropped.",
    }),
    event_time: z.number().positive().nullable().default(null).meta({
      description: "Unix time in seconds, or in a finer unit. Null = when it came in.",
    }),
    source_event_type: z.string().min(1).max(128).nullable().default(null).meta({
      description: "What the platform calls the event.",
    }),
    variables: createRunSchema.shape.variables,
    stream: createRunSchema.shape.stream,
    wait: createRunSchema.shape.wait,
    on_disconnect: createRunSchema.shape.on_disconnect,
  })
  .meta({ id: "CreateEvent" });
export type CreateEvent = z.infer<typeof createEventSchema>;
