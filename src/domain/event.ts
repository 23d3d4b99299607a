/** What came in and asks for a run: the event, who caused it, where it happened, what it carries (runs §10, §11). */
import { z } from "zod";
import { attachmentSchema } from "./attachment.js";

export const EVENT_TYPES = [
  "message.received",
  "message.recalled",
  "group.member_joined",
  "friend.request_received",
  "interaction.submitted",
] as const;
export const eventTypeSchema = z.enum(EVENT_TYPES);
export type EventType = z.infer<typeof eventTypeSchema>;

const nullableText = z.string().min(1).max(512).nullable().default(null);

/** Who is talking where (api §2 `chat`). */
export const chatSchema = z.strictObject({
  launcher_type: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/, "a short word of letters, digits, _ and -")
    .default("person"),
  launcher_id: z.string().min(1).max(512),
  sender_id: z.string().max(512).nullable().default(null),
  sender_name: z.string().max(512).nullable().default(null),
  bot_id: nullableText,
  conversation_id: nullableText,
  thread_id: nullableText,
});
export type Chat = z.infer<typeof chatSchema>;

export const conversationSchema = z.object({
  session_id: z.string(),
  conversation_id: z.string(),
  thread_id: z.string().nullable(),
  launcher_type: z.string(),
  launcher_id: z.string(),
  sender_id: z.string().nullable(),
  bot_id: z.string().nullable(),
  workspace_id: z.string(),
});
export type Conversation = z.infer<typeof conversationSchema>;

export const actorSchema = z.object({
  actor_type: z.string(),
  id: z.string().nullable(),
  name: z.string().nullable(),
});

export const subjectSchema = z.object({
  type: z.string(),
  id: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
});

export const eventSchema = z.object({
  event_id: z.string(),
  event_type: eventTypeSchema,
  /** Unix seconds (runs §11.4). */
  event_time: z.number(),
  source: z.string(),
  source_event_type: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
});

/** One structured item of the input, as it is handed to a runner: references, never inline bytes. */
export const contentItemSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  /** An attachment at its place among the contents; `reference` names it in `attachments`. */
  z.object({ type: z.literal("attachment"), reference: z.string() }),
]);
export type ContentItem = z.infer<typeof contentItemSchema>;

export const runInputSchema = z.object({
  text: z.string().nullable(),
  contents: z.array(contentItemSchema),
  attachments: z.array(attachmentSchema),
});
export type RunInput = z.infer<typeof runInputSchema>;

/** The text form of an input: `text` when it is not null, else the text items joined with one space (runs §11.1). */
export function inputText(input: Pick<RunInput, "text" | "contents">): string {
  if (input.text !== null) return input.text;
  return input.contents.flatMap((item) => (item.type === "text" ? [item.text] : [])).join(" ");
}
