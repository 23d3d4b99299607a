/** What a failure means to the run: its code, and a text that may be shown (runs §23). */
import { ServiceError } from "../../domain/errors.js";

const MAX_CHARS = 500;
/** Absolute paths outside the workspace, but not the path part of an address. */
const HOST_PATH = /(?<![\w/:.])\/(?!workspace(?:\/|\b))(?:[\w.@+-]+\/)+[\w.@+-]*/g;

/** One line without stack, host path or flood, for a model or a user (runs §23.1). */
export function sanitiseText(text: string): string {
  const line = text
    .split(/\n\s+at /)[0]
    ?.replaceAll(/\s+/g, " ")
    .replaceAll(HOST_PATH, "[path]")
    .trim();
  const characters = Array.from(line ?? "");
  return characters.length <= MAX_CHARS
    ? characters.join("")
    : `${characters.slice(0, MAX_CHARS).join("")}...`;
}

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
