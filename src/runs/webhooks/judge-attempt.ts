/** What follows from one attempt to tell a receiver (runs §9.6, box §9.6). Pure. */
import type { WebhookAnswer } from "../../ports/webhook-calls.js";

/** Milliseconds before the next attempt, after the first, the second and so on; after the last one it is given up. */
export const BACK_OFF_MS = [5_000, 30_000, 120_000, 600_000, 3_600_000, 14_400_000] as const;

/** Statuses that say: the content of this message is not taken. */
const REFUSES_CONTENT = new Set([400, 413, 415, 422]);
const GONE = 410;
const FIRST_SERVER_FAULT = 500;
/** The request may have been worked on: nobody knows. */
const TIMED_OUT = 408;

export type AttemptVerdict =
  | { readonly kind: "taken" }
  /** Files in the message are refused; it is not repeated. */
  | { readonly kind: "refused" }
  /** Whether the files arrived is not known; it is not repeated. */
  | { readonly kind: "unknown" }
  | { readonly kind: "given_up" }
  | { readonly kind: "again"; readonly afterMs: number };

/** @param attempt.count attempts so far, this one among them */
export function judgeAttempt(
  answer: WebhookAnswer,
  attempt: { readonly count: number; readonly carriesFiles: boolean },
): AttemptVerdict {
  const status = answer.kind === "answered" ? answer.status : null;
  if (status !== null && status >= 200 && status <= 299) return { kind: "taken" };
  if (status === GONE) return { kind: "given_up" };
  if (attempt.carriesFiles) {
    if (status !== null && REFUSES_CONTENT.has(status)) return { kind: "refused" };
    if (isOpen(answer.kind, status)) return { kind: "unknown" };
  }
  const afterMs = BACK_OFF_MS[attempt.count - 1];
  return afterMs === undefined ? { kind: "given_up" } : { kind: "again", afterMs };
}

function isOpen(kind: WebhookAnswer["kind"], status: number | null): boolean {
  return kind === "unknown" || status === TIMED_OUT || (status !== null && status >= FIRST_SERVER_FAULT);
}
