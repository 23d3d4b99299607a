/** The result of `exec`, field by field (box §12.4). */
import type { ExecExit } from "../../domain/box.js";
import { saidFileSizeNotes } from "../../domain/exec-outcome.js";
import type { TimeoutChoice } from "./exec-input.js";
import type { ExecOutputFields } from "./exec-output.js";

export interface ExecFacts {
  readonly sessionId: string;
  readonly exit: ExecExit;
  readonly timeout: TimeoutChoice;
  readonly output: ExecOutputFields;
  /** Of the workspace; 0 = none. */
  readonly quotaMib: number;
}

export function execResult(facts: ExecFacts): Readonly<Record<string, unknown>> {
  const { exit } = facts;
  const { notes, ...output } = facts.output;
  const exitCode = exit.status === "completed" ? exit.exitCode : null;
  return {
    session_id: facts.sessionId,
    status: exit.status,
    ok: exitCode === 0,
    exit_code: exitCode,
    ...output,
    duration_ms: Math.round(exit.durationMs),
    notes: [
      ...exit.notes,
      ...saidFileSizeNotes(exit, output.stderr, facts.quotaMib),
      ...describeTimeout(exit.status, facts.timeout),
      ...notes,
    ],
  };
}

/** What the box's own notes do not say: limits of the service, and the next step. */
function describeTimeout(status: ExecExit["status"], timeout: TimeoutChoice): readonly string[] {
  if (timeout.refusedSeconds !== null)
    return [
      `timeout_sec ${timeout.refusedSeconds} is above the limit of this box; ${timeout.seconds} s was used.`,
    ];
  if (status !== "timed_out" || timeout.seconds >= timeout.maxSeconds) return [];
  return [`timeout_sec can be up to ${timeout.maxSeconds}.`];
}
