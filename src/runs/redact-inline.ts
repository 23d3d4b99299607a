/** Inline bytes of a message never reach ledger or transcript: a mark stands in their place (runs §17.4). */
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
