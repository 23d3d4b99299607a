/** Which chats use a session, from where its runs came. */
import type { RunChat } from "../ports/run-store.js";

const MAX_CHATS = 100;

export interface ChatSeen {
  readonly launcherType: string;
  readonly launcherId: string;
  /** Unix milliseconds of its newest run. */
  readonly lastRunAt: number;
}

/** @param runs newest first @returns each chat once, the one that spoke last first, at most 100 */
export function findChats(runs: readonly RunChat[]): readonly ChatSeen[] {
  const newest = new Map<string, number>();
  for (const { chat, createdAt } of runs) if (!newest.has(chat)) newest.set(chat, createdAt);
  return [...newest].slice(0, MAX_CHATS).map(([chat, lastRunAt]) => {
    // A type has no colon, an id may have some.
    const end = chat.indexOf(":");
    return { launcherType: chat.slice(0, end), launcherId: chat.slice(end + 1), lastRunAt };
  });
}
