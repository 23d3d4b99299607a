/** The result of `exec`, field by field (box §12.4). */
import type { ExecExit } from "../../domain/box.js";
import type { TimeoutChoice } from "./exec-input.js";
import type { ExecOutputFields } from "./exec-output.js";

export interface ExecFacts {
  readonly sessionId: string;
  readonly exit: ExecExit;
  readonly timeout: TimeoutChoice;
  readonly output: ExecOutputFields;
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
    notes: [...exit.notes, ...describeExit(exit, facts.timeout), ...notes],
  };
}

function describeExit(exit: ExecExit, timeout: TimeoutChoice): readonly string[] {
  const notes: string[] = [];
  if (exit.status === "timed_out")
    notes.push(
      `The command was stopped after ${timeout.seconds} s (timeout_sec; at most ${timeout.maxSeconds} are possible).`,
    );
  if (timeout.refusedSeconds !== null)
    notes.push(
      `timeout_sec ${timeout.refusedSeconds} is above the limit of this box; ${timeout.seconds} s was used.`,
    );
  if (exit.leftovers > 0)
    notes.push(
      `${exit.leftovers} processes that the command started still run; they are stopped when the run ends.`,
    );
  return notes;
}
