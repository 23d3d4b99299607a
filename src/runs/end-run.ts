/** How a run ends: outcome and terminal event, decided in one place (runs §18, §19, §20, box §9.4). */
import type { ExceptionHandling } from "../domain/binding.js";
import type { FileRecord } from "../domain/delivery.js";
import { type ServiceError, toServiceError } from "../domain/errors.js";
import type { RunError, RunEventType, TerminalState } from "../domain/run.js";
import type { Usage } from "../domain/usage.js";
import type { NewRunEvent, RunOutcome, RunRecord } from "../ports/run-store.js";
import type { RunProgress } from "./record-run.js";
import { replaceBoxLinks } from "./replace-box-links.js";
import { toRunObject, toTime } from "./run-object.js";
import { withNotice } from "./user-notice.js";

export interface EndInputs {
  readonly run: RunRecord;
  readonly progress: RunProgress;
  /** Thrown while the run was executed, or null. */
  readonly failure: unknown;
  /** Counted by the host at every model call; what the runner reports counts where the host saw none. */
  readonly countedUsage: Usage;
  readonly attachments: RunRecord["attachments"];
  readonly outboxLeft: RunRecord["outboxLeft"];
  readonly files: readonly FileRecord[];
  readonly endedAt: number;
  /** Of the run's pipeline. */
  readonly exceptions: ExceptionHandling;
}

export function decideOutcome(inputs: EndInputs): RunOutcome {
  const { progress, failure } = inputs;
  const ownError = failure === null ? verdictError(progress) : toRunError(toServiceError(failure));
  const error = ownError ?? deliveryError(inputs.files);
  const state = error === null ? "completed" : failedState(error.code);
  const text = replaceBoxLinks(progress.text, state === "cancelled" ? [] : inputs.files);
  const { verdict } = progress;
  return {
    state,
    endedAt: inputs.endedAt,
    message: text === "" ? null : { content: text, partial: ownError !== null },
    outboxLeft: inputs.outboxLeft,
    attachments: settleAttachments(inputs.run, inputs.attachments),
    model: progress.model,
    toolRounds: progress.toolRounds,
    usage: inputs.countedUsage.model_calls > 0 ? inputs.countedUsage : progress.usage,
    finishReason: verdict?.state === "completed" && ownError === null ? verdict.finishReason : null,
    warnings: progress.warnings,
    error: withNotice(error, inputs.exceptions),
  };
}

/** What the runner said of its own end; a stream without a terminal result is judged by runs §18.6. */
function verdictError(progress: RunProgress): RunError | null {
  const { verdict } = progress;
  if (verdict?.state === "completed") return null;
  if (verdict !== null) return verdict.error;
  if (progress.hasCompleteMessage) return null;
  return { code: "runner.protocol", message: "The runner ended without a result.", retryable: false };
}

/** The receiver may have reported a failure before the run had ended (box §9.6). */
function deliveryError(files: readonly FileRecord[]): RunError | null {
  const failed = files.find(({ state }) => state === "failed");
  return failed === undefined ? null : undeliveredError(failed, null);
}

/** @param detail what the receiver said of it */
export function undeliveredError(file: FileRecord, detail: string | null): RunError {
  return {
    code: "delivery.failed",
    message: `The file "${file.name}" could not be sent to the user.`,
    retryable: false,
    ...(detail === null ? {} : { details: { detail: detail.slice(0, 500) } }),
  };
}

function failedState(code: string): TerminalState {
  if (code === "cancelled") return "cancelled";
  return code === "runner.timeout" ? "timeout" : "failed";
}

export function toRunError(error: ServiceError): RunError {
  const { code, message, retryable, hint, details } = error;
  return {
    code,
    message,
    retryable,
    ...(hint === undefined ? {} : { hint }),
    ...(Object.keys(details).length === 0 ? {} : { details: { ...details } }),
  };
}

/** Outcome of a run whose process is gone, or that never started: the ledger row is all there is. */
export function failedOutcome({
  run,
  error,
  text,
  endedAt,
  exceptions,
}: {
  readonly run: RunRecord;
  readonly error: ServiceError;
  readonly text: string;
  readonly endedAt: number;
  readonly exceptions: ExceptionHandling;
}): RunOutcome {
  return {
    state: failedState(error.code),
    endedAt,
    message: text === "" ? null : { content: text, partial: true },
    outboxLeft: [],
    attachments: settleAttachments(run, run.attachments),
    model: run.model,
    toolRounds: run.toolRounds,
    usage: run.usage,
    finishReason: null,
    warnings: run.warnings,
    error: withNotice(toRunError(error), exceptions),
  };
}

/** Of a run that has ended no attachment is on its way any more: it is in the box, or it is said why not (api §2). */
function settleAttachments(
  { session }: RunRecord,
  attachments: RunRecord["attachments"],
): RunRecord["attachments"] {
  const reason =
    session === null ? "The run had no box to put it into." : "The run ended before it was in the box.";
  return attachments.map((outcome) =>
    outcome.state === "pending" ? { ...outcome, state: "refused", path: null, reason } : outcome,
  );
}

/** The event that ends every stream of the run; its data is the run object (api §2). */
export function terminalEvent(record: RunRecord, files: readonly FileRecord[]): NewRunEvent {
  return {
    type: terminalType(record.state),
    data: { ...toRunObject(record, files) },
    timestamp: toTime(record.endedAt ?? record.createdAt),
  };
}

/** A run that timed out has failed, for whoever reads its stream. */
function terminalType(state: RunRecord["state"]): RunEventType {
  if (state === "completed") return "run.completed";
  return state === "cancelled" ? "run.cancelled" : "run.failed";
}
