/** What the end of a command means (box §12.4, security §6.2). Pure. */
import type { ExecExit, ExecStatus } from "./box.js";

/** Why the service stopped a command. `abandoned`: nobody waits for it any more. */
export type StopReason = "timed_out" | "cancelled" | "abandoned";

/** Counters of the whole box since it started; -1 where the kernel does not tell. */
export interface BoxCounters {
  readonly oomKills: number;
  readonly pidsRefused: number;
}

/** How a command ended, as told from inside the box. */
export interface CommandExit extends BoxCounters {
  readonly code: number | null;
  readonly signal: number | null;
  /** Who ended it; `loss`: its supervisor died, and the box stopped the command for that. */
  readonly by: "exit" | "kill" | "timeout" | "quota" | "loss";
  /** What the workspace held when it was found full or above its limit; null when it was not. */
  readonly disk: DiskUse | null;
  readonly leftovers: number;
}

/** What a workspace holds. */
export interface DiskUse {
  /** Bytes on the disk. */
  readonly sizeBytes: number;
  /** Files and directories; at least so many. */
  readonly entries: number;
  /** Whether it is the disk of the host that is down to its reserve. */
  readonly isHostFull?: boolean | undefined;
}

/** Limits in force, for the notes. */
export interface BoxLimits {
  readonly memoryMb: number;
  readonly pids: number;
  /** 0 = none. */
  readonly quotaMib: number;
  /** Files and directories of the workspace; `MAX_ENTRIES` if not given. */
  readonly entries?: number | undefined;
}

export interface ExitFacts {
  readonly exit: CommandExit;
  readonly countersAtStart: BoxCounters | null;
  /** Null when the service did not stop the command. */
  readonly stopReason: StopReason | null;
  readonly timeoutMs: number;
  readonly durationMs: number;
  readonly limits: BoxLimits;
  /** Whether what it left behind ends with it, and not with a run. */
  readonly isProcess?: boolean | undefined;
}

/** Files and directories that a workspace may hold unless the settings say otherwise (box §10.5). */
export const MAX_ENTRIES = 100_000;
const MIB = 1024 * 1024;
const MAX_FILE_MIB = 1024;
const SIGXFSZ = 25;
/** Words of shells for the end by that signal, and of the C library for the error that others get. */
const FILE_TOO_LARGE = /\b(?:File size limit exceeded|File too large)/;
const SIGNAL_NAMES: ReadonlyMap<number, string> = new Map([
  [1, "SIGHUP"],
  [2, "SIGINT"],
  [3, "SIGQUIT"],
  [4, "SIGILL"],
  [6, "SIGABRT"],
  [7, "SIGBUS"],
  [8, "SIGFPE"],
  [9, "SIGKILL"],
  [11, "SIGSEGV"],
  [13, "SIGPIPE"],
  [14, "SIGALRM"],
  [15, "SIGTERM"],
  [24, "SIGXCPU"],
  [SIGXFSZ, "SIGXFSZ"],
  [31, "SIGSYS"],
]);

const LOSS_NOTE =
  "The command's supervisor was ended or did not answer, so the command was stopped with all its processes.";

/** The exit of a command whose end was told from inside the box. */
export function describeExit(facts: ExitFacts): ExecExit {
  const { exit } = facts;
  const status = statusOf(facts);
  return {
    status,
    exitCode: status === "completed" ? exit.code : null,
    durationMs: facts.durationMs,
    leftovers: exit.leftovers,
    notes: [
      ...stopNotes(status, facts.timeoutMs),
      ...(status === "killed" && exit.by === "exit" && exit.signal !== null ? [signalNote(exit.signal)] : []),
      ...(exit.by === "loss" ? [LOSS_NOTE] : []),
      ...limitNotes(facts),
      ...leftoverNotes(exit.leftovers, facts.isProcess === true ? "with it" : "when the run ends"),
    ],
  };
}

function statusOf({ exit, stopReason }: ExitFacts): ExecStatus {
  if (exit.by === "timeout") return "timed_out";
  if (exit.by === "kill" || exit.by === "loss") return statusOfStop(stopReason);
  if (exit.by === "quota") return "killed";
  return exit.code === null ? "killed" : "completed";
}

/** The status of a command that the service stopped; the box ended it when there is no reason. */
export function statusOfStop(reason: StopReason | null): ExecStatus {
  if (reason === null) return "killed";
  return reason === "timed_out" ? "timed_out" : "cancelled";
}

/** What the model must know about the stop. */
export function stopNotes(status: ExecStatus, timeoutMs: number): string[] {
  if (status === "timed_out")
    return [
      `The command reached its time limit of ${timeoutMs / 1000} s and was stopped with all its processes.`,
    ];
  return status === "cancelled" ? ["The command was cancelled and stopped with all its processes."] : [];
}

function signalNote(signal: number): string {
  return `The command was ended by signal ${signal} (${SIGNAL_NAMES.get(signal) ?? "unnamed"}).`;
}

function limitNotes({ exit, countersAtStart, limits }: ExitFacts): string[] {
  const notes = [...quotaNotes(exit, limits), ...counterNotes(countersAtStart, exit, limits)];
  if (exit.signal === SIGXFSZ || exit.code === 128 + SIGXFSZ) notes.push(fileSizeNote(limits.quotaMib));
  return notes;
}

function fileSizeNote(quotaMib: number): string {
  return `The limit of ${maxFileMib(quotaMib)} MiB for one file was reached.`;
}

/**
 * A script goes on when one of its commands meets the limit of one file, and its exit tells nothing of it: only what the
 * shell or the program said does. @param stderr the part that is shown
 */
export function saidFileSizeNotes(
  { notes }: Pick<ExecExit, "notes">,
  stderr: string,
  quotaMib: number,
): readonly string[] {
  if (!FILE_TOO_LARGE.test(stderr) || notes.includes(fileSizeNote(quotaMib))) return [];
  return [
    `A file can have ${maxFileMib(quotaMib)} MiB at most: what is said of one that is too large is about that.`,
  ];
}

/** MiB of the largest file that a box can write. @param quotaMib of its workspace; 0 = none */
export function maxFileMib(quotaMib: number): number {
  return quotaMib > 0 ? Math.min(MAX_FILE_MIB, quotaMib) : MAX_FILE_MIB;
}

function quotaNotes({ by, disk }: CommandExit, limits: BoxLimits): string[] {
  if (disk === null) return [];
  const said = describeFullDisk(disk, limits);
  if (by === "quota") return [`${said} The command was stopped with all its processes; the files stayed.`];
  return by === "exit" ? [`${said} Writing fails until files are removed.`] : [said];
}

/** One sentence: limit and use of a workspace that holds what it may (box §10.5). */
export function describeFullDisk(use: DiskUse, limits: BoxLimits): string {
  const { sizeBytes, entries, isHostFull = false } = use;
  const { quotaMib, entries: maxEntries = MAX_ENTRIES } = limits;
  if (isHostFull)
    return `The disk of the machine is nearly full, so no box may grow: ${Math.ceil(sizeBytes / MIB)} MiB${quotaMib === 0 ? "" : ` of ${quotaMib} MiB`} are in use in this workspace.`;
  return sizeBytes >= quotaMib * MIB
    ? `The workspace quota of ${quotaMib} MiB was reached: ${Math.ceil(sizeBytes / MIB)} MiB are in use.`
    : `The limit of ${maxEntries} files in the workspace was reached: there are at least ${entries}.`;
}

/** Limits of the whole box that struck while the command ran. */
export function counterNotes(before: BoxCounters | null, after: BoxCounters, limits: BoxLimits): string[] {
  if (before === null) return [];
  const notes: string[] = [];
  const killed = after.oomKills - before.oomKills;
  const refused = after.pidsRefused - before.pidsRefused;
  if (killed > 0)
    notes.push(
      `The memory limit of ${limits.memoryMb} MiB was reached: ${count(killed, "process was", "processes were")} killed.`,
    );
  if (refused > 0) notes.push(`The limit of ${limits.pids} processes was reached: new ones were refused.`);
  return notes;
}

function leftoverNotes(leftovers: number, end: string): string[] {
  if (leftovers === 0) return [];
  return [
    `${count(leftovers, "process that the command started still runs and is", "processes that the command started still run and are")} stopped ${end}.`,
  ];
}

function count(amount: number, one: string, many: string): string {
  return `${amount} ${amount === 1 ? one : many}`;
}

/** What a command is told whose box ended under it. */
export const BOX_ENDED_NOTE =
  "The box stopped while the command ran: its processes are gone, the files in /workspace stayed.";

/** What a command is told whose session was deleted under it. */
export const BOX_DELETED_NOTE =
  "The session was deleted while the command ran: its box, its processes and all its files are gone.";

/** What a command is told that stood still with its box. */
export const WOKEN_NOTE =
  "Somebody had paused the box while the command ran: it stood still until the box was woken.";

/** What a command is told whose processes were ended by the second or the third means (security §6.1). */
export const CLEARING_NOTES = {
  2: "The command's supervisor did not answer, so all processes of the box user were stopped.",
  3: "The box had to be started anew: all its processes and everything outside /workspace are gone, the files in /workspace stayed.",
} as const;

/** What a command is told for which a box had no room at first. */
export function roomNote({ pids }: BoxLimits): string {
  return `The box was full of processes (limit ${pids}): what earlier commands had left running was stopped first.`;
}

/** What is said of a box that had no room for a command and nothing else to stop. */
export const MADE_ROOM_NOTE = "All processes of the box user were stopped to make room.";
