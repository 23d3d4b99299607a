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

/** The types that a caller may send; the others are reserved (runs §18.12). */
export const SERVED_EVENT_TYPES = [
  "message.received",
  "message.recalled",
  "group.member_joined",
  "friend.request_received",
] as const satisfies readonly EventType[];

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
export type Actor = z.infer<typeof actorSchema>;

export const subjectSchema = z.object({
  type: z.string(),
  id: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
});
export type Subject = z.infer<typeof subjectSchema>;

/** What a run answers to, as it is kept with the run; the context is built from it (runs §11). */
export const triggerSchema = z.object({
  event_type: eventTypeSchema,
  /** Unix seconds (runs §11.4). */
  event_time: z.number(),
  source_event_type: z.string().nullable(),
  actor: actorSchema,
  subject: subjectSchema,
  data: z.record(z.string(), z.unknown()),
});
export type Trigger = z.infer<typeof triggerSchema>;

/** The trigger of a run that a message of a chat asked for. */
export function messageTrigger(message: {
  readonly id: string;
  readonly chat: Chat | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
}): Trigger {
  const { id, chat, createdAt } = message;
  return {
    event_type: "message.received",
    event_time: createdAt / 1000,
    source_event_type: null,
    actor: { actor_type: "user", id: chat?.sender_id ?? null, name: chat?.sender_name ?? null },
    subject: { type: "message", id, data: {} },
    data: {},
  };
}

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
