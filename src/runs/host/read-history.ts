/** `history_page`: the run's own conversation, by pages (runs §17). */
import { ServiceError } from "../../domain/errors.js";
import type { HistoryPage, TranscriptItem } from "../../domain/history.js";
import type { MessagePart } from "../../domain/message.js";
import { prefixWithin } from "../../lib/code-points.js";
import type { HistoryRequest } from "../../ports/run-host.js";
import type { TranscriptStore } from "../../ports/transcript-store.js";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100;
const DEFAULT_CHARS = 4000;
const MAX_CHARS = 65_536;

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
  const limit = Math.min(Math.max(1, Math.trunc(request.limit ?? DEFAULT_LIMIT)), MAX_LIMIT);
  const { direction } = request;
  const from = request.cursor === undefined ? null : parseCursor(request.cursor);
  const found = await transcripts.page(scope.tenant, scope.conversation, {
    direction,
    from,
    limit: limit + 1,
  });
  const items = found.slice(0, limit);
  const maxChars = Math.min(Math.max(1, request.contentChars ?? DEFAULT_CHARS), MAX_CHARS);
  const first = items[0];
  const last = items.at(-1);
  return {
    items: items.map((item) => cutItem(item, maxChars)),
    next_cursor: last === undefined ? null : String(last.sequence),
    prev_cursor: first === undefined ? null : String(first.sequence),
    has_more: found.length > limit,
  };
}

function parseCursor(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new ServiceError("host.invalid_argument", "The history cursor is not one of this service.");
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
