/** Takes one checked result of a runner: what needs the host's stores is judged here, the recorder writes the rest (runs §18). */
import { ServiceError } from "../domain/errors.js";
import type { RunnerResult } from "../domain/result.js";
import type { ClaimedFiles } from "./claimed-files.js";
import type { KeyValues } from "./host/key-values.js";
import type { RunRecorder } from "./record-run.js";

export interface TakeDeps {
  readonly recorder: RunRecorder;
  readonly claimed: ClaimedFiles;
  readonly state: Pick<KeyValues, "set">;
}

export async function takeResult(deps: TakeDeps, result: RunnerResult): Promise<void> {
  switch (result.type) {
    case "message.completed":
      return takeMessage(deps, result);
    case "state.updated":
      return takeState(deps, result);
    default:
      return deps.recorder.take(result);
  }
}

type OfType<Type extends RunnerResult["type"]> = Extract<RunnerResult, { readonly type: Type }>;

/** A message with a file that it may not carry is refused as a whole (runs §18.8). */
async function takeMessage(
  { recorder, claimed }: TakeDeps,
  result: OfType<"message.completed">,
): Promise<void> {
  const fileIds = result.data.file_ids ?? [];
  if (await claimed.claim(fileIds)) return recorder.take(result);
  return recorder.warn({
    code: "result.file_refused",
    message: `A message is refused: of its files ${fileIds.join(", ").slice(0, 500)} one is not of this run, or was used before.`,
  });
}

/** Stored by the rules of the host call, then shown; what those rules refuse is dropped (runs §16, §18.3). */
async function takeState({ recorder, state }: TakeDeps, result: OfType<"state.updated">): Promise<void> {
  try {
    await state.set(result.data);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return recorder.warn({ code: "state.refused", message: `A state update is dropped: ${error.message}` });
  }
  return recorder.take(result);
}

function isRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && REFUSALS.has(error.code);
}

const REFUSALS: ReadonlySet<string> = new Set([
  "host.unauthorized",
  "host.not_found",
  "host.invalid_argument",
  "host.payload_too_large",
]);
