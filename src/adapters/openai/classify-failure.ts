/** Reads the refusal of a model server: too large, too often, not allowed, or wrong (local-agent §10.2, §16.3). Pure. */
import type { ErrorCode } from "../../domain/errors.js";

export interface Refusal {
  /** HTTP status; null for an error inside a stream that began well. */
  readonly status: number | null;
  /** The provider's own code, if it gave one. */
  readonly code: string | null;
  readonly message: string;
  readonly hasBody: boolean;
}

const OVERFLOW_CODES = new Set([
  "context_length_exceeded",
  "context_window_exceeded",
  "model_context_window_exceeded",
  "max_context_length_exceeded",
  "prompt_too_long",
  "exceed_context_size_error",
  "tokens_limit_reached",
]);

/** Whatever else such a text says, it is no overflow. */
const RATE_WORDS = /rate.?limit|too many requests|throttl|service unavailable/i;

const OVERFLOW_WORDS: readonly RegExp[] = [
  /prompt (?:is )?too long/i,
  /request (?:is )?too large/i,
  /context[ _-]?(?:length|window|size)\b.{0,80}\bexceed/i,
  /exceed.{0,80}\bcontext[ _-]?(?:length|window|size)/i,
  /maximum (?:context|prompt) length\D{0,40}\d/i,
  /reduce the length of the (?:messages|prompt|input)/i,
  /too many tokens/i,
  /token limit (?:was |is |has been )?exceeded|exceed\w*.{0,40}\btoken limit/i,
];

export function classifyRefusal(refusal: Refusal): ErrorCode {
  const { status, message } = refusal;
  if (status === 429) return "model.rate_limited";
  if (status === 401 || status === 403) return "model.credentials_refused";
  if (isOverflow(refusal)) return "model.context_overflow";
  if (status === null) return "model.stream_failed";
  if (status >= 500) return "model.unavailable";
  if (RATE_WORDS.test(message)) return "model.rate_limited";
  if (status === 413) return "model.request_too_large";
  return status === 408 ? "model.timeout" : "model.request_refused";
}

/** The provider's code first, then the wording; a 400 or 413 that says nothing at all counts too. */
export function isOverflow({ status, code, message, hasBody }: Refusal): boolean {
  if (RATE_WORDS.test(message)) return false;
  if (code !== null && OVERFLOW_CODES.has(code.toLowerCase())) return true;
  if (!hasBody) return status === 400 || status === 413;
  return OVERFLOW_WORDS.some((words) => words.test(message));
}
