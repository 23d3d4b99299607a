/** Limits and cursors of what a host gives by pages (runs §17.2). Pure. */
import { ServiceError } from "../../domain/errors.js";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100;

export interface HostPage<Item> {
  readonly items: readonly Item[];
  /** For the page after this one in its direction. */
  readonly next_cursor: string | null;
  /** For the page before it, in the other direction. */
  readonly prev_cursor: string | null;
  readonly has_more: boolean;
}

/** At most 100, however many are asked for. */
export function pageLimit(limit: number | undefined): number {
  return Math.min(Math.max(1, Math.trunc(limit ?? DEFAULT_LIMIT)), MAX_LIMIT);
}

/** @throws ServiceError `host.invalid_argument` for a cursor that is not ours */
export function readCursor(cursor: string | undefined): number | null {
  if (cursor === undefined) return null;
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new ServiceError("host.invalid_argument", "The cursor is not one of this service.", {
    hint: "Use a cursor of the page before, unchanged.",
  });
}

/** @param found up to one item more than the limit, which only says that there is more */
export function toPage<Item extends { readonly sequence: number }>(
  found: readonly Item[],
  limit: number,
): HostPage<Item> {
  const items = found.slice(0, limit);
  const first = items[0];
  const last = items.at(-1);
  return {
    items,
    next_cursor: last === undefined ? null : String(last.sequence),
    prev_cursor: first === undefined ? null : String(first.sequence),
    has_more: found.length > limit,
  };
}
