/** Decides what follows a model call that failed or gave nothing (local-agent §10.2–§10.7). Pure. */
import { type ErrorCode, ServiceError } from "../../domain/errors.js";
import { isStop } from "./failure.js";

export type FailureKind =
  /** No time left, or the run was stopped. */
  | "stop"
  /** The request is too large for the model's window. */
  | "overflow"
  /** Rate limit, 5xx, network: the same model may answer later. */
  | "transient"
  /** Time-out, refused credentials, an error inside the stream: another model may answer. */
  | "passing"
  /** The server refuses this request; it is never sent again unchanged. */
  | "refused"
  /** Too large in bytes (413). */
  | "too_large"
  | "empty"
  /** An exception of our own code. */
  | "ours";

const KIND_OF_CODE: Partial<Record<ErrorCode, Exclude<FailureKind, "empty">>> = {
  "model.context_overflow": "overflow",
  "model.rate_limited": "transient",
  "model.unavailable": "transient",
  "model.stream_failed": "transient",
  "model.timeout": "passing",
  "model.credentials_refused": "passing",
  "model.request_refused": "refused",
  "model.request_too_large": "too_large",
};

export function failureKind(error: unknown): Exclude<FailureKind, "empty"> {
  if (isStop(error)) return "stop";
  if (!(error instanceof ServiceError)) return "ours";
  // An error that the provider named inside a stream is its answer; a connection that broke is not.
  if (error.code === "model.stream_failed" && error.details["provider_error"] === true) return "passing";
  return KIND_OF_CODE[error.code] ?? "ours";
}

export interface WalkState {
  /** Text of this reply was shown. */
  readonly isShown: boolean;
  /** A model is committed, or no other candidate is left. */
  readonly isLast: boolean;
  /** No model is committed and a later candidate has a larger window (§16.2). */
  readonly hasLargerCandidate: boolean;
  readonly hasImages: boolean;
  /** Retries on the same model in this turn. */
  readonly retries: number;
  readonly isReminded: boolean;
  /** Milliseconds that may still be spent waiting: time of the run and total of all waits. */
  readonly waitLeftMs: number;
}

export type NextStep =
  | { readonly step: "next_candidate" }
  | { readonly step: "larger_candidate" }
  | { readonly step: "retry"; readonly waitMs: number }
  | { readonly step: "remind" }
  | { readonly step: "drop_images" }
  | { readonly step: "fail"; readonly as: "stop" | "ours" | "shown" | "overflow" | "empty" | "all" };

/** Waits before the first and the second retry (§10.3). */
const RETRY_WAITS_MS = [1000, 3000] as const;
export const MAX_WAIT_MS = 10_000;

export function nextStep(kind: FailureKind, state: WalkState): NextStep {
  if (kind === "stop" || kind === "ours") return { step: "fail", as: kind };
  if (kind === "empty") return afterEmpty(state);
  if (state.isShown) return { step: "fail", as: "shown" };
  // A request that is too large, in whatever words the server says it, goes once more without its images (§12.23).
  if (isTooMuch(kind) && state.hasImages) return { step: "drop_images" };
  if (kind === "overflow") return afterOverflow(state);
  if (!state.isLast) return { step: "next_candidate" };
  return kind === "transient" ? afterTransient(state) : { step: "fail", as: "all" };
}

function isTooMuch(kind: FailureKind): boolean {
  return kind === "too_large" || kind === "overflow";
}

function afterOverflow({ hasLargerCandidate }: WalkState): NextStep {
  return hasLargerCandidate ? { step: "larger_candidate" } : { step: "fail", as: "overflow" };
}

function afterTransient({ retries, waitLeftMs }: WalkState): NextStep {
  const waitMs = RETRY_WAITS_MS[retries];
  if (waitMs === undefined || waitMs >= waitLeftMs) return { step: "fail", as: "all" };
  return { step: "retry", waitMs };
}

/** Thinking may have been shown, but no answer was: one more request does no harm (§10.7). */
function afterEmpty(state: WalkState): NextStep {
  if (!state.isLast) return { step: "next_candidate" };
  return state.isReminded ? { step: "fail", as: "empty" } : { step: "remind" };
}
