/** What a failure means to the run: its code, and a text that may be shown (runs §23). */
import { ServiceError } from "../../domain/errors.js";
import { sanitiseText } from "../../lib/sanitise-text.js";

export function errorText(error: unknown): string {
  return sanitiseText(error instanceof Error ? error.message : String(error));
}

/** The host has no time left, or the run was stopped: nothing is tried again. */
export function isStop(error: unknown): boolean {
  return (
    error instanceof ServiceError &&
    (error.code === "host.deadline_exceeded" || error.code === "runner.timeout" || error.code === "cancelled")
  );
}

/** Runs a phase of the loop; what it throws and is no ServiceError becomes a failure with this code (§6.8). */
export async function asPhase<Value>(
  code: "runner.tool_error" | "runner.error",
  phase: () => Promise<Value> | Value,
): Promise<Value> {
  try {
    return await phase();
  } catch (error) {
    throw phaseFailure(code, error);
  }
}

export function phaseFailure(code: "runner.tool_error" | "runner.error", error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const what = code === "runner.tool_error" ? "The tool batch failed" : "The local agent failed";
  return new ServiceError(code, `${what}: ${errorText(error)}`, { cause: error });
}
