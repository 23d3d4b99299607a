/** Tells the type of a file: by its first bytes, then by its name. */

/** First bytes of a file that are enough to tell its type. */
export const SNIFFED_BYTES = 4100;

/**
 * @param name Only its extension counts.
 * @param head The first `SNIFFED_BYTES` of the file, or all of a shorter one.
 * @returns a media type without parameters; `application/octet-stream` when nothing is known
 */
export type SniffMimeType = (name: string, head: Uint8Array) => Promise<string>;
