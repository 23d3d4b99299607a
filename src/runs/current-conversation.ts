/** Which stretch of a chat a message belongs to: one that was silent for too long is over, and the next message begins another (runs §5.7). */
import type { Chat } from "../domain/event.js";
import { isTerminal } from "../domain/run.js";
import type { RunStore } from "../ports/run-store.js";
import { baseKey, renewedKey } from "./conversation-key.js";

/** Runs of the chat that are looked at for the newest of this conversation: threads and pipelines lie among them. */
const MAX_LOOKED_AT = 100;

export interface ConversationFacts {
  readonly tenant: string;
  readonly chat: Chat;
  /** Of the chat's first stretch. */
  readonly base: string;
  /** Seconds; 0 = it goes on for ever. */
  readonly expireSec: number;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * The key is named after the run that the silence followed, so messages that come at the same time after it meet in one
 * conversation.
 * @returns its key
 */
export async function currentConversation(
  runs: Pick<RunStore, "list">,
  { tenant, chat, base, expireSec, now }: ConversationFacts,
): Promise<string> {
  if (expireSec === 0) return base;
  const filter = { chat: `${chat.launcher_type}:${chat.launcher_id}`, limit: MAX_LOOKED_AT };
  const found = await runs.list(tenant, filter);
  const newest = found.find(({ conversation }) => baseKey(conversation) === base);
  if (newest === undefined) return base;
  const isOver = isTerminal(newest.state) && now - (newest.endedAt ?? newest.createdAt) > expireSec * 1000;
  return isOver ? renewedKey(base, newest.id) : newest.conversation;
}
