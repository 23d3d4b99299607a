/** Which runs go one after another, and which history they share (runs §7.5, §17.1). */
import type { Chat } from "../domain/event.js";

/** The conversation id of a chat (runs §11.6). */
export function conversationId(chat: Chat, params: Readonly<Record<string, unknown>>): string {
  const fromParams = params["conversation_id"];
  if (chat.conversation_id !== null) return chat.conversation_id;
  if (typeof fromParams === "string" && fromParams !== "") return fromParams;
  return `${chat.launcher_type}_${chat.launcher_id}`;
}

/** A conversation lies within bot, binding and thread; JSON keeps the parts apart. The tenant is a column of its own. */
export function conversationKey(
  chat: Chat,
  pipeline: string,
  params: Readonly<Record<string, unknown>>,
): string {
  return JSON.stringify([chat.bot_id, pipeline, conversationId(chat, params), chat.thread_id]);
}
