/** What a listening package may answer before a run, read from whatever it said (runs §8.3). Pure. */
import { z } from "zod";
import { type Message, messageSchema } from "../domain/message.js";
import type { IncomingContent } from "./run-request.js";

/** Characters of a text, entries of a list: more is no answer that a chat can hold. */
const MAX_CHARS = 1024 * 1024;
const MAX_ENTRIES = 256;

const text = z.string().max(MAX_CHARS);
const name = z.string().max(1024).nullable().default(null);
const mime_type = z.string().max(255).nullable().default(null);

const linked = <const Type extends string>(type: Type) =>
  z.looseObject({ type: z.literal(type), url: z.string().min(1), name, mime_type });
const inline = <const Type extends string>(type: Type) =>
  z.looseObject({ type: z.literal(type), data: z.string(), name, mime_type });

const elementSchema = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text }),
  /** A file that came with the message, by its reference. */
  z.looseObject({ type: z.literal("attachment"), reference: z.string() }),
  linked("image_url"),
  linked("file_url"),
  linked("voice_url"),
  inline("image_base64"),
  inline("file_base64"),
  inline("voice_base64"),
]);
type Element = z.infer<typeof elementSchema>;

const textPart = z.looseObject({ type: z.literal("text"), text });

const answerSchema = z.looseObject({
  prevent_default: z.boolean().default(false),
  reply: z.union([text, textPart, z.array(textPart).max(MAX_ENTRIES)]).nullish(),
  user_message_alter: z.union([text, elementSchema, z.array(elementSchema).max(MAX_ENTRIES)]).nullish(),
  prompt: z.array(messageSchema).max(MAX_ENTRIES).nullish(),
});

/** One piece of content that takes the place of the user's. */
export type AlteredContent =
  | IncomingContent
  | { readonly type: "kept" /** Of an attachment of the message. */; readonly reference: string };

export interface PluginVerdict {
  /** The runner is not to be called. */
  readonly isPrevented: boolean;
  /** What answers in its place; null = nothing is sent. */
  readonly reply: string | null;
  /** A text stands for the words alone, a list for all of it; null = nothing was altered. */
  readonly altered: string | readonly AlteredContent[] | null;
  /** The prompt that counts from here on; null = it stays. */
  readonly prompt: readonly Message[] | null;
}

/** @throws ZodError for an answer that is none; no answer at all is one that leaves all as it is */
export function readPluginAnswer(answer: unknown): PluginVerdict {
  const { prevent_default, reply, user_message_alter, prompt } = answerSchema.parse(answer ?? {});
  return {
    isPrevented: prevent_default,
    reply: replyText(reply ?? null),
    altered: readAltered(user_message_alter ?? null),
    prompt: prompt ?? null,
  };
}

type Reply = z.infer<typeof answerSchema>["reply"];

/** Parts are joined with one space, as those of a message (runs §11.1). An empty reply is none. */
function replyText(reply: NonNullable<Reply> | null): string | null {
  if (reply === null) return null;
  const parts = typeof reply === "string" ? [reply] : [reply].flat().map((part) => part.text);
  return parts.join(" ") || null;
}

function readAltered(
  altered: string | Element | readonly Element[] | null,
): string | readonly AlteredContent[] | null {
  if (altered === null || typeof altered === "string") return altered;
  return isList(altered) ? altered.map(toContent) : [toContent(altered)];
}

function isList(value: Element | readonly Element[]): value is readonly Element[] {
  return Array.isArray(value);
}

function toContent(element: Element): AlteredContent {
  switch (element.type) {
    case "text":
      return { type: "text", text: element.text };
    case "attachment":
      return { type: "kept", reference: element.reference };
    case "image_url":
    case "file_url":
    case "voice_url":
      return { ...fileFacts(element), source: { kind: "url", url: element.url } };
    default:
      return { ...fileFacts(element), source: { kind: "base64", data: element.data } };
  }
}

function fileFacts(element: Exclude<Element, { type: "text" | "attachment" }>) {
  return {
    type: "attachment" as const,
    kind: KINDS[element.type],
    name: element.name,
    mimeType: element.mime_type,
  };
}

const KINDS = {
  image_url: "image",
  image_base64: "image",
  voice_url: "voice",
  voice_base64: "voice",
  file_url: "file",
  file_base64: "file",
} as const;
