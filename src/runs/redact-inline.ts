/** Inline bytes never reach ledger, transcript or event records: a mark stands in their place (runs §17.4). */
import type { Message, MessagePart } from "../domain/message.js";

export function redactInline(message: Message): Message {
  if (!Array.isArray(message.content)) return message;
  return { ...message, content: message.content.map(redactPart) };
}

function redactPart(part: MessagePart): MessagePart {
  if (part.type === "text" || !/^data:/i.test(part.image_url.url)) return part;
  const mimeType = /^data:([\w.+-]+\/[\w.+-]+)/i.exec(part.image_url.url)?.[1] ?? "of unknown type";
  return { type: "text", text: `[image ${mimeType}: inline content left out]` };
}

const DATA_URI = /data:([\w.+-]+\/[\w.+-]+)?(?:;[\w.+-]+(?:=[\w.+-]+)?)*;base64,[\w+/=-]*/gi;
/** Long enough that no word, id, hash or signature is one. */
const BARE_BASE64 = /[\w+/-]{512,}={0,2}/g;

/** A text without the bodies of data URIs and without bare base64 of 512 characters and more. */
export function redactInlineText(text: string): string {
  return text
    .replace(DATA_URI, (_uri, mimeType?: string) => `[${mimeType ?? "file"}: inline content left out]`)
    .replace(BARE_BASE64, "[file: inline content left out]");
}

/** JSON at any depth, each text in it redacted. */
export function redactInlineValue(value: unknown): unknown {
  if (typeof value === "string") return redactInlineText(value);
  if (Array.isArray(value)) return value.map(redactInlineValue);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redactInlineValue(item)]));
}
