/** `history_page` and `history_search`: the run's own conversation (runs §17). */
import { ServiceError } from "../../domain/errors.js";
import type { HistoryPage, TranscriptItem } from "../../domain/history.js";
import { type MessagePart, messageText } from "../../domain/message.js";
import { prefixWithin } from "../../lib/code-points.js";
import type { HistoryRequest, HistorySearch } from "../../ports/run-host.js";
import type { TranscriptStore } from "../../ports/transcript-store.js";
import { pageLimit, readCursor, toPage } from "./host-pages.js";

const DEFAULT_CHARS = 4000;
const MAX_CHARS = 65_536;
const MAX_QUERY_CHARS = 1000;
/** Messages that one search looks through; the cursor goes on from there. */
const MAX_SEARCHED = 2000;
const SEARCH_STEP = 200;

export interface HistoryScope {
  readonly tenant: string;
  readonly conversation: string;
}

/** @throws ServiceError `host.invalid_argument` for a cursor that is not ours */
export async function readHistory(
  transcripts: TranscriptStore,
  scope: HistoryScope,
  request: HistoryRequest,
): Promise<HistoryPage> {
  const limit = pageLimit(request.limit);
  const from = readCursor(request.cursor);
  const wanted = { direction: request.direction, from, limit: limit + 1 };
  const found = await transcripts.page(scope.tenant, scope.conversation, wanted);
  return cutPage(toPage(found, limit), request.contentChars);
}

/**
 * Messages whose text holds a text, newest first. The text is taken literally, whatever its case (runs §17.5).
 * @throws ServiceError `host.invalid_argument` for an empty text, a long one, and a cursor that is not ours
 */
export async function searchHistory(
  transcripts: TranscriptStore,
  scope: HistoryScope,
  request: HistorySearch,
): Promise<HistoryPage> {
  const text = readQuery(request.text);
  const limit = pageLimit(request.limit);
  const found: TranscriptItem[] = [];
  let from = readCursor(request.cursor);
  let searched = 0;
  let hasMore = true;
  while (hasMore && found.length <= limit && searched < MAX_SEARCHED) {
    const step = { direction: "backward" as const, from, limit: SEARCH_STEP };
    const items = await transcripts.page(scope.tenant, scope.conversation, step);
    found.push(...items.filter(({ message }) => messageText(message).toLowerCase().includes(text)));
    from = items.at(-1)?.sequence ?? from;
    searched += items.length;
    hasMore = items.length === SEARCH_STEP;
  }
  const page = cutPage(toPage(found, limit), request.contentChars);
  // What was not looked through yet begins behind the last message that was.
  if (page.has_more || !hasMore || from === null) return page;
  return { ...page, next_cursor: String(from), has_more: true };
}

function readQuery(text: string): string {
  if (text !== "" && text.length <= MAX_QUERY_CHARS) return text.toLowerCase();
  throw new ServiceError(
    "host.invalid_argument",
    `The text to search for has ${text.length} characters; 1 to ${MAX_QUERY_CHARS} are allowed.`,
  );
}

function cutPage(page: HistoryPage, contentChars = DEFAULT_CHARS): HistoryPage {
  const maxChars = Math.min(Math.max(1, contentChars), MAX_CHARS);
  return { ...page, items: page.items.map((item) => cutItem(item, maxChars)) };
}

/** Of a text in parts each part is cut by itself. */
function cutItem(item: TranscriptItem, maxChars: number): TranscriptItem {
  const { content } = item.message;
  if (content === null) return item;
  const cut =
    typeof content === "string" ? cutText(content, maxChars) : content.map((part) => cutPart(part, maxChars));
  return { ...item, message: { ...item.message, content: cut } };
}

function cutPart(part: MessagePart, maxChars: number): MessagePart {
  return part.type === "text" ? { type: "text", text: cutText(part.text, maxChars) } : part;
}

function cutText(text: string, maxChars: number): string {
  const kept = prefixWithin(text, { chars: maxChars, bytes: Infinity });
  return kept.length === text.length ? text : `${kept}...`;
}
