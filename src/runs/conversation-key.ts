/** Which runs go one after another, and which history they share (runs §7.5, §17.1). */
import type { Chat } from "../domain/event.js";
import type { RunId } from "../domain/ids.js";

/** What names the conversation of a run. */
interface InConversation {
  readonly chat: Chat | null;
  readonly params: Readonly<Record<string, unknown>>;
  /** Its key. */
  readonly conversation: string;
}

/**
 * The conversation id of a run (runs §11.6); a later stretch of a chat has one of its own.
 * @returns null without a chat: there is no conversation
 */
export function conversationId(run: InConversation & { readonly chat: Chat }): string;
export function conversationId(run: InConversation): string | null;
export function conversationId({ chat, params, conversation }: InConversation): string | null {
  if (chat === null) return null;
  const id = statedId(chat, params) ?? `${chat.launcher_type}_${chat.launcher_id}`;
  const stretch = stretchOf(conversation);
  return stretch === null ? id : `${id}_after_${stretch}`;
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
  return JSON.stringify([chat.bot_id, pipeline, conversationParts(chat, params), chat.thread_id]);
}

/** Parts of a key of `conversationKey`; what comes after them names a later stretch of it. */
const BASE_PARTS = 4;

/** The key of a conversation that begins after silence. @param after the last run before it */
export function renewedKey(base: string, after: RunId): string {
  return JSON.stringify([...readKey(base), after]);
}

/** The key without the stretch. */
export function baseKey(key: string): string {
  return JSON.stringify(readKey(key).slice(0, BASE_PARTS));
}

/** The run after which the stretch began; null = it is the first. */
export function stretchOf(key: string): string | null {
  const after = readKey(key)[BASE_PARTS];
  return typeof after === "string" ? after : null;
}

/** A key that is no list has no parts: it is the base of nothing. */
function readKey(key: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(key);
    return Array.isArray(parts) ? parts : [key];
  } catch {
    return [key];
  }
}

/** What tells a conversation from all others of its bot: the id that was stated, else the parts of the launcher. */
export function conversationParts(
  chat: Chat,
  params: Readonly<Record<string, unknown>>,
): string | readonly string[] {
  return statedId(chat, params) ?? [chat.launcher_type, chat.launcher_id];
}

/** Stands for the conversation of a run without one: it shares queue and history with no other event. */
export function loneKey(runId: RunId): string {
  return JSON.stringify(["run", runId]);
}

function statedId(chat: Chat, params: Readonly<Record<string, unknown>>): string | null {
  if (chat.conversation_id !== null) return chat.conversation_id;
  const fromParams = params["conversation_id"];
  return typeof fromParams === "string" && fromParams !== "" ? fromParams : null;
}
