/** What is told of a command at its end: exit, limits that were met, what was cleared; or why it never began (box §12). */
import type { ExecExit } from "../../domain/box.js";
import { refusedWorkdir } from "../../domain/command-plan.js";
import { ServiceError } from "../../domain/errors.js";
import {
  BOX_ENDED_NOTE,
  type BoxLimits,
  CLEARING_NOTES,
  type CommandExit,
  counterNotes,
  type DiskUse,
  describeExit,
  MADE_ROOM_NOTE,
  statusOfStop,
  stopNotes,
  WOKEN_NOTE,
} from "../../domain/exec-outcome.js";
import type { ExecRequest } from "../../ports/box-handle.js";
import type { Clearing } from "../../ports/box-helper.js";
import type { BoxdCommand, CommandEnding } from "./boxd-command.js";
import type { SharedHelper } from "./shared-helper.js";

/** What is known at the end of a command. */
export interface Ended {
  readonly ending: CommandEnding;
  readonly durationMs: number;
  /** Whether it stood still for a while. */
  readonly wasWoken: boolean;
}

export interface EndedCommand extends Ended {
  readonly command: BoxdCommand;
  readonly request: Pick<ExecRequest, "workdir" | "timeoutMs"> & { readonly isProcess?: boolean };
}

export interface ConcludeDeps {
  readonly session: SharedHelper;
  /** Commands of the lease that run or left something running. */
  readonly own: ReadonlySet<BoxdCommand>;
}

/**
 * How a command ended, with notes on what stopped it and what it left.
 * @throws ServiceError `box.validation` or `box.readiness` for one that never began, `box.engine_unavailable` when the
 * engine cannot tell what became of the box
 */
export async function concludeCommand(deps: ConcludeDeps, ended: EndedCommand): Promise<ExecExit> {
  const exit = await describe(deps, ended);
  return ended.wasWoken ? { ...exit, notes: [...exit.notes, WOKEN_NOTE] } : exit;
}

async function describe(
  deps: ConcludeDeps,
  { command, request, ending, durationMs }: EndedCommand,
): Promise<ExecExit> {
  if (ending.type === "fault") throw await refuseCommand(deps, request, ending.word);
  if (ending.type === "lost") return concludeLost(deps, { command, request, durationMs });
  const full = await deps.session.quota.after();
  return describeExit({
    exit: withStrike({ ...ending.exit, disk: full }, command.struck),
    countersAtStart: command.countersAtStart,
    stopReason: command.stopReason,
    timeoutMs: request.timeoutMs,
    durationMs,
    limits: deps.session.limits,
    isProcess: request.isProcess,
  });
}

/** @throws ServiceError `box.engine_unavailable` when the engine cannot tell what became of the box */
async function concludeLost(
  { session }: ConcludeDeps,
  { command, request, durationMs }: Pick<EndedCommand, "command" | "request" | "durationMs">,
): Promise<ExecExit> {
  const status = statusOfStop(command.stopReason);
  const clearing = await session.recover(command.connection);
  const notes = [
    ...stopNotes(status, request.timeoutMs),
    ...clearingNotes(clearing, command, session.limits),
  ];
  return { status, exitCode: null, durationMs, leftovers: 0, notes };
}

/** A box that takes no process is cleared when nothing runs in it; a command or job that runs is worth more than a new one. */
export async function refuseCommand(
  { session, own }: ConcludeDeps,
  request: Pick<ExecRequest, "workdir">,
  word: string,
): Promise<ServiceError> {
  if (word !== "busy") return refusedWorkdir(request.workdir, word);
  const isAlone =
    ![...own].some(({ hasBegun }) => hasBegun) &&
    ![...session.commands].some(({ hasBegun, hasEnded }) => hasBegun && !hasEnded);
  const notes = isAlone ? [clearedNote(await session.clear())] : [];
  const remedy = isAlone ? "try again" : "stop a job, or try again when what runs in it has ended";
  return new ServiceError("box.readiness", ["The box could not start the command.", ...notes].join(" "), {
    hint: `The box may be full of processes (limit ${session.limits.pids}): ${remedy}.`,
  });
}

function clearingNotes(
  clearing: Clearing | null,
  command: BoxdCommand,
  limits: BoxLimits,
): readonly string[] {
  if (clearing === null) return [BOX_ENDED_NOTE];
  const { rung, counters } = clearing;
  const limitNotes = counters === null ? [] : counterNotes(command.countersAtStart, counters, limits);
  return [...limitNotes, CLEARING_NOTES[rung]];
}

function clearedNote(clearing: Clearing | null): string {
  if (clearing === null) return BOX_ENDED_NOTE;
  return clearing.rung === 2 ? MADE_ROOM_NOTE : CLEARING_NOTES[clearing.rung];
}

/** A command that was killed for what the workspace holds. */
function withStrike(exit: CommandExit, use: DiskUse | null): CommandExit {
  if (use === null || exit.by === "exit") return exit;
  return { ...exit, by: "quota", disk: use };
}
