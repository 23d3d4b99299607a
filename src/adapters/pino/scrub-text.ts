/** Makes text fit for a log line: no secret, no link query, no control character, not endless. */

const REDACTED = "[redacted]";
const MAX_CHARS = 1_000;
/** A shorter secret would also hit ordinary words; keys of the service are longer (box §16.1). */
const MIN_SECRET_CHARS = 8;

/** @param secrets texts that must never be seen, such as the configured keys */
export function scrubText(text: string, secrets: readonly string[]): string {
  const hidden = secrets
    .filter((secret) => secret.length >= MIN_SECRET_CHARS)
    .reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);
  const scrubbed = hidden
    .replaceAll(/\b(bearer|basic)\s+[\w.~+/=-]+/gi, `$1 ${REDACTED}`)
    // User info and query of a URL, and the query of a bare path.
    .replaceAll(/(\w:\/\/)[^\s/?#@]+@/g, `$1${REDACTED}@`)
    .replaceAll(/\?[\w.~%[\]-]+=[^\s"'<>)]*/g, `?${REDACTED}`)
    .replaceAll(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return scrubbed.length > MAX_CHARS ? `${scrubbed.slice(0, MAX_CHARS)}…` : scrubbed;
}

/** Control characters, line separators and direction marks: they could forge lines or repaint a terminal. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
