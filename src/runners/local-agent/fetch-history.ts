/** Pulls the conversation so far from the host (local-agent §17.3, §17.4). */
import type { TranscriptItem } from "../../domain/history.js";
import type { Message } from "../../domain/message.js";
import type { RunContext } from "../../domain/run-context.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunHost } from "../../ports/run-host.js";
import { sanitiseHistory } from "./sanitise-history.js";

const PAGE_ITEMS = 100;
const CONTENT_CHARS = 65_536;

export interface FetchedHistory {
  /** In chronological order, fit to be sent. */
  readonly messages: readonly Message[];
  /** Earlier messages exist that are not included. */
  readonly hasOlder: boolean;
}

/** Reads backward pages until `limit` units or the beginning; a cursor that does not move ends the reading. */
export async function fetchHistory(
  context: RunContext,
  { host, limit }: { readonly host: RunHost; readonly limit: number },
  options: CallOptions,
): Promise<FetchedHistory> {
  if (!context.context.available_apis.history_page) return { messages: [], hasOlder: false };
  const newestFirst: TranscriptItem[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await host.historyPage(
      { direction: "backward", cursor, limit: PAGE_ITEMS, contentChars: CONTENT_CHARS },
      options,
    );
    newestFirst.push(...page.items.filter((item) => !isCurrent(item, context)));
    const units = sanitiseHistory(newestFirst.toReversed().map((item) => withoutImages(item.message)));
    const next = page.next_cursor ?? undefined;
    const isMoving = next !== undefined && next !== cursor && page.items.length > 0;
    // One unit above the limit shows that the oldest one kept is whole, wherever a page ends.
    if (units.length > limit || !page.has_more || !isMoving)
      return { messages: units.slice(-limit).flat(), hasOlder: page.has_more || units.length > limit };
    cursor = next;
  }
}

/** The message that is being answered is in the history already; it must not come twice. */
function isCurrent(item: TranscriptItem, { run_id, event }: RunContext): boolean {
  return item.run_id === run_id || (item.message.role === "user" && item.event_id === event.event_id);
}

/** Image bytes belong to the run in which they came (§4.5). */
function withoutImages(message: Message): Message {
  if (!Array.isArray(message.content)) return message;
  const content = message.content.map((part) =>
    part.type === "text"
      ? part
      : { type: "text" as const, text: "[an image of an earlier message, not shown again]" },
  );
  return { ...message, content };
}
