/** How much is taken from an MCP server: what it sends is a stranger's. */

const MIB = 1024 * 1024;

/** One message, or one event of a stream. */
export const MAX_MESSAGE_BYTES = 8 * MIB;
/** What one message may hold: reading it holds up everybody. */
export const MESSAGE_LIMITS = { maxValues: 200_000, maxDepth: 128 };
/** Entries of one page of a list that are looked at. */
export const MAX_ENTRIES = 10_000;
/** Pages of one list. */
export const MAX_PAGES = 20;
/** Text of one result. */
export const MAX_RESULT_CHARS = 512 * 1024;
/** Elements of one result. */
export const MAX_ELEMENTS = 256;
/** Binary parts of one result that are kept in the box, and the largest of them. */
export const MAX_KEPT_FILES = 8;
export const MAX_KEPT_BYTES = 6 * MIB;

/** Milliseconds to start a server and shake hands; a first start may have to fetch its program. */
export const CONNECT_MS = 60_000;
/** Milliseconds for the answer to a list. */
export const LIST_MS = 20_000;
/** Milliseconds after which no call is waited for any longer, whatever the caller's own limit says. */
export const CALL_MS = 3_700_000;
/** Milliseconds before a server that failed is tried again: the first wait, and the longest. */
export const RETRY_MS = { first: 1000, longest: 60_000 };
/** Milliseconds that a list from a box is trusted. */
export const BOX_LIST_TTL_MS = 600_000;
