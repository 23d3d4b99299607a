/** What the user of a bot reads where a run could not answer (runs §21.6). Code and message of an error are for whoever runs the bot. Pure. */
import type { ExceptionHandling } from "../domain/binding.js";
import { ERROR_CODES } from "../domain/errors.js";
import type { RunError } from "../domain/run.js";
import type { Pipelines } from "./resolve-binding.js";

export const RUNNER_MISSING = "The configured runner is missing.";
export const RUNNER_REFUSED = "The runner may not be used here.";
export const TRY_AGAIN = "The service is temporarily unavailable. Please try again.";
export const REQUEST_FAILED = "The request failed.";
export const FILE_UNDELIVERED = "A file could not be sent.";

type Told = Pick<RunError, "code" | "message" | "retryable">;

/** @returns null where nothing is to be shown: by the setting, or because the user has cancelled */
export function noticeOf(error: Told, handling: ExceptionHandling): string | null {
  if (error.code === "cancelled") return null;
  if (error.code === "runner.not_found") return RUNNER_MISSING;
  if (error.code === "runner.not_authorized") return RUNNER_REFUSED;
  if (isExecutionError(error.code)) return hintOf(error);
  if (handling === "hide") return null;
  return handling === "show-error" ? error.message : hintOf(error);
}

/** The error with its notice, where there is one. */
export function withNotice<Error extends RunError | null>(error: Error, handling: ExceptionHandling): Error {
  const notice = error === null ? null : noticeOf(error, handling);
  return notice === null ? error : { ...error, notice };
}

/** Of a pipeline that is gone the default counts. */
export function exceptionHandlingOf({ byId }: Pipelines, pipeline: string): ExceptionHandling {
  return byId.get(pipeline)?.exceptionHandling ?? "show-hint";
}

/** A runner's own: codes of the runner, those of external services, and those that the service does not know. */
function isExecutionError(code: string): boolean {
  if (code === "runner.protocol") return false;
  return code.startsWith("runner.") || !Object.hasOwn(ERROR_CODES, code);
}

function hintOf({ code, retryable }: Told): string {
  if (code === "delivery.failed") return FILE_UNDELIVERED;
  return retryable ? TRY_AGAIN : REQUEST_FAILED;
}
