/** Which runs go one after another, and which history they share (runs §7.5, §17.1). */
import type { Chat } from "../domain/event.js";

/** The conversation id of a chat (runs §11.6). */
export function conversationId(chat: Chat, params: Readonly<Record<string, unknown>>): string {
  return statedId(chat, params) ?? `${chat.launcher_type}_${chat.launcher_id}`;
}

/**
 * A conversation lies within bot, binding and thread. The tenant is a column of its own. JSON keeps the parts apart, those
 * of the launcher too: `a_b` with `c` and `a` with `b_c` are two chats.
 */
export function conversationKey(
  chat: Chat,
  pipeline: string,
  params: Readonly<Record<string, unknown>>,
): string {
  const conversation = statedId(chat, params) ?? [chat.launcher_type, chat.launcher_id];
  return JSON.stringify([chat.bot_id, pipeline, conversation, chat.thread_id]);
}

function statedId(chat: Chat, params: Readonly<Record<string, unknown>>): string | null {
  if (chat.conversation_id !== null) return chat.conversation_id;
  const fromParams = params["conversation_id"];
  return typeof fromParams === "string" && fromParams !== "" ? fromParams : null;
}
