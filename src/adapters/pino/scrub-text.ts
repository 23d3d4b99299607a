/** Makes text fit for a log line: no secret, no link query, no control character, not endless. */
import { SECRET_MARK, type SecretMask } from "../../lib/secret-mask.js";

const MAX_CHARS = 1_000;

/** @param mask knows the texts that must never be seen, such as the configured keys */
export function scrubText(text: string, mask: SecretMask): string {
  const scrubbed = mask
    .text(text)
    .replaceAll(/\b(bearer|basic)\s+[\w.~+/=-]+/gi, `$1 ${SECRET_MARK}`)
    // User info and query of a URL, and the query of a bare path.
    .replaceAll(/(\w:\/\/)[^\s/?#@]+@/g, `$1${SECRET_MARK}@`)
    .replaceAll(/\?[\w.~%[\]-]+=[^\s"'<>)]*/g, `?${SECRET_MARK}`)
    .replaceAll(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return scrubbed.length > MAX_CHARS ? `${scrubbed.slice(0, MAX_CHARS)}…` : scrubbed;
}

/** Control characters, line separators and direction marks: they could forge lines or repaint a terminal. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
