/** A box under one lease: commands and files over the helper that all leases share, and the end of what this one left (box §12). */
import type { ExecExit } from "../../domain/box.js";
import { type CommandPlan, planCommand, refusedWorkdir } from "../../domain/command-plan.js";
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
  roomNote,
  statusOfStop,
  stopNotes,
  WOKEN_NOTE,
} from "../../domain/exec-outcome.js";
import type {
  BoxFiles,
  BoxHandle,
  BoxProcess,
  ExecEvent,
  ExecRequest,
  SpawnRequest,
} from "../../ports/box-handle.js";
import type { Clearing } from "../../ports/box-helper.js";
import type { Clock } from "../../ports/clock.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import { BoxdCommand, type CommandEnding } from "./boxd-command.js";
import type { BoxdConnection } from "./boxd-connection.js";
import { BoxdFiles } from "./boxd-files.js";
import { BoxdProcess } from "./boxd-process.js";
import { askSpawn, type SpawnFacts } from "./questions.js";
import type { QuotaGuard } from "./quota-watch.js";

/** What a request holds besides the command. */
const MAX_COMMAND_BYTES = 960 * 1024;
/** The helper stops a command by itself when the service did not, so much later. */
const SECOND_LINE_MS = 1000;

/** What a lease needs of the helper that it shares with others. */
export interface SharedHelper {
  /** Name of the container, for the log. */
  readonly container: string;
  readonly limits: BoxLimits;
  readonly quota: QuotaGuard;
  /** Commands of all leases that run or left something running. */
  readonly commands: Set<BoxdCommand>;
  /** Whether the box had to be woken, because somebody had paused it. @param elapsed monotonic milliseconds. Never rejects */
  wasWokenSince(elapsed: number): Promise<boolean>;
  /** Whether the disk of the host is down to its reserve. Never rejects. */
  isHostFull(): Promise<boolean>;
  /** Why a file of this size did not fit: limit, use and what to do. Never rejects. */
  explainNoSpace(sizeBytes: number): Promise<string>;
  /** The connection to a helper that lives. */
  connect(options: CallOptions): Promise<BoxdConnection>;
  /** Ends what a lost helper may have left. @returns null when the box itself has ended */
  recover(connection: BoxdConnection): Promise<Clearing | null>;
  /** Ends everything in the box. @returns null when the box itself has ended */
  clear(): Promise<Clearing | null>;
  /** Whether the box has stopped its helper. Never rejects. */
  isStopped(): Promise<boolean>;
  /** The helper did not end a command in time: it is dropped. */
  abandon(connection: BoxdConnection): void;
}

export interface BoxdHandleDeps {
  readonly session: SharedHelper;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Ended {
  readonly ending: CommandEnding;
  readonly durationMs: number;
  /** Whether it stood still for a while. */
  readonly wasWoken: boolean;
}

interface EndedCommand extends Ended {
  readonly command: BoxdCommand;
  readonly request: Pick<ExecRequest, "workdir" | "timeoutMs"> & { readonly isProcess?: boolean };
}

interface Attempt {
  readonly plan: CommandPlan;
  readonly request: ExecRequest;
  /** Whether a box without room is an error. */
  readonly isLast: boolean;
}

export class BoxdHandle implements BoxHandle {
  readonly files: BoxFiles;
  readonly #deps: BoxdHandleDeps;
  /** Commands that run or left something running. */
  readonly #commands = new Set<BoxdCommand>();
  #closing: Promise<void> | null = null;

  constructor(deps: BoxdHandleDeps) {
    this.#deps = deps;
    const { session } = deps;
    this.files = new BoxdFiles(async (options) => session.connect(options), session);
  }

  async *exec(request: ExecRequest, options: CallOptions): AsyncIterable<ExecEvent> {
    const plan = planCommand(request, MAX_COMMAND_BYTES);
    options.signal.throwIfAborted();
    const notes: string[] = [];
    for (;;) {
      this.#requireOpen();
      const exit = yield* this.#attempt({ plan, request, isLast: notes.length > 0 }, options);
      if (exit !== null) {
        yield { type: "exit", exit: { ...exit, notes: [...notes, ...exit.notes] } };
        return;
      }
      notes.push(roomNote(this.#deps.session.limits));
    }
  }

  /** @returns null when the box had no room for it and now may have some */
  async *#attempt(
    { plan, request, isLast }: Attempt,
    options: CallOptions,
  ): AsyncGenerator<ExecEvent, ExecExit | null> {
    const startedAt = this.#deps.clock.elapsed();
    const facts: SpawnFacts = { timeoutMs: request.timeoutMs + SECOND_LINE_MS, input: null };
    const command = await this.#start(plan, facts, options);
    const ended = this.#timed(command, startedAt);
    const cancel = (): void => command.stop("cancelled");
    const timer = setTimeout(() => command.stop("timed_out"), request.timeoutMs);
    options.signal.addEventListener("abort", cancel, { once: true });
    if (options.signal.aborted) cancel();
    try {
      yield* tellOutput(command);
      const end = await ended;
      if (!isLast && isFull(end.ending) && (await this.#endLeftovers())) return null;
      return await this.#conclude({ command, request, ...end });
    } finally {
      clearTimeout(timer);
      options.signal.removeEventListener("abort", cancel);
      await this.#abandon(command);
    }
  }

  async spawn(request: SpawnRequest, options: CallOptions): Promise<BoxProcess> {
    const plan = planCommand(request, MAX_COMMAND_BYTES);
    const facts: SpawnFacts = { timeoutMs: 0, input: request.terminal ?? "stream" };
    options.signal.throwIfAborted();
    this.#requireOpen();
    const startedAt = this.#deps.clock.elapsed();
    const command = await this.#start(plan, facts, options);
    const ended = this.#timed(command, startedAt);
    const cancel = (): void => command.stop("abandoned");
    options.signal.addEventListener("abort", cancel, { once: true });
    if (options.signal.aborted) cancel();
    await command.begun;
    options.signal.removeEventListener("abort", cancel);
    if (options.signal.aborted || !command.hasBegun) await this.#refuseSpawn(command, request, options);
    return new BoxdProcess({
      command,
      events: this.#tell(command, { ...request, timeoutMs: 0, isProcess: true }, ended),
      end: async () => this.#endCommand(command),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  #requireOpen(): void {
    if (this.#closing !== null) throw new ServiceError("box.readiness", "The box was given back already.");
  }

  async #start(plan: CommandPlan, facts: SpawnFacts, options: CallOptions): Promise<BoxdCommand> {
    const { session } = this.#deps;
    const connection = await session.connect(options);
    const before = await session.quota.before();
    // The lease may have ended meanwhile, and nobody would stop the command then.
    this.#requireOpen();
    const env = { ...connection.environment, ...plan.env };
    const body = askSpawn({ ...plan, env }, facts);
    const command = new BoxdCommand({
      connection,
      body,
      isHelperStopped: async () => session.isStopped(),
      onStuck: () => session.abandon(connection),
    });
    session.quota.watch(command, before);
    for (const commands of [this.#commands, session.commands]) {
      commands.add(command);
      void command.gone.then(() => commands.delete(command));
    }
    return command;
  }

  async #timed(command: BoxdCommand, startedAt: number): Promise<Ended> {
    const ending = await command.ending;
    const durationMs = Math.round(this.#deps.clock.elapsed() - startedAt);
    return { ending, durationMs, wasWoken: await this.#deps.session.wasWokenSince(startedAt) };
  }

  async *#tell(
    command: BoxdCommand,
    request: EndedCommand["request"],
    ended: Promise<Ended>,
  ): AsyncGenerator<ExecEvent, void> {
    yield* tellOutput(command);
    yield { type: "exit", exit: await this.#conclude({ command, request, ...(await ended) }) };
  }

  /** @throws why the process does not run; nothing of it is left */
  async #refuseSpawn(command: BoxdCommand, request: SpawnRequest, options: CallOptions): Promise<never> {
    const ending = command.hasEnded ? await command.ending : null;
    await this.#endCommand(command);
    options.signal.throwIfAborted();
    if (ending?.type === "fault") throw await this.#refuse(request, ending.word);
    throw new ServiceError(
      "box.engine_unavailable",
      "The helper in the box was lost while it started a process.",
    );
  }

  async #conclude(ended: EndedCommand): Promise<ExecExit> {
    const exit = await this.#describe(ended);
    return ended.wasWoken ? { ...exit, notes: [...exit.notes, WOKEN_NOTE] } : exit;
  }

  async #describe({ command, request, ending, durationMs }: EndedCommand): Promise<ExecExit> {
    if (ending.type === "fault") throw await this.#refuse(request, ending.word);
    if (ending.type === "lost") return this.#concludeLost(command, request, durationMs);
    const full = await this.#deps.session.quota.after();
    return describeExit({
      exit: withStrike({ ...ending.exit, disk: full }, command.struck),
      countersAtStart: command.countersAtStart,
      stopReason: command.stopReason,
      timeoutMs: request.timeoutMs,
      durationMs,
      limits: this.#deps.session.limits,
      isProcess: request.isProcess,
    });
  }

  /** @throws ServiceError `box.engine_unavailable` when the engine cannot tell what became of the box */
  async #concludeLost(
    command: BoxdCommand,
    request: EndedCommand["request"],
    durationMs: number,
  ): Promise<ExecExit> {
    const status = statusOfStop(command.stopReason);
    const clearing = await this.#deps.session.recover(command.connection);
    const notes = [...stopNotes(status, request.timeoutMs), ...this.#clearingNotes(clearing, command)];
    return { status, exitCode: null, durationMs, leftovers: 0, notes };
  }

  /** Ends what earlier commands of this lease left running. @returns whether there was anything */
  async #endLeftovers(): Promise<boolean> {
    const leftovers = [...this.#commands].filter(({ hasBegun, hasEnded }) => hasBegun && hasEnded);
    await Promise.all(leftovers.map(async (command) => this.#endCommand(command)));
    return leftovers.length > 0;
  }

  /** A box that takes no process is cleared when nothing runs in it; a command or job that runs is worth more than a new one. */
  async #refuse(request: Pick<ExecRequest, "workdir">, word: string): Promise<ServiceError> {
    if (word !== "busy") return refusedWorkdir(request.workdir, word);
    const { session } = this.#deps;
    const isAlone =
      ![...this.#commands].some(({ hasBegun }) => hasBegun) &&
      ![...session.commands].some(({ hasBegun, hasEnded }) => hasBegun && !hasEnded);
    const notes = isAlone ? [clearedNote(await session.clear())] : [];
    const remedy = isAlone ? "try again" : "stop a job, or try again when what runs in it has ended";
    return new ServiceError("box.readiness", ["The box could not start the command.", ...notes].join(" "), {
      hint: `The box may be full of processes (limit ${session.limits.pids}): ${remedy}.`,
    });
  }

  #clearingNotes(clearing: Clearing | null, command: BoxdCommand): readonly string[] {
    if (clearing === null) return [BOX_ENDED_NOTE];
    const { rung, counters } = clearing;
    const { limits } = this.#deps.session;
    const limitNotes = counters === null ? [] : counterNotes(command.countersAtStart, counters, limits);
    return [...limitNotes, CLEARING_NOTES[rung]];
  }

  /** Ends a command whose reader went away; nothing to do for one that has ended. */
  async #abandon(command: BoxdCommand): Promise<void> {
    if (command.hasEnded) return;
    command.stop("abandoned");
    const ending = await command.ending;
    if (ending.type === "lost") await this.#recover(command);
  }

  async #close(): Promise<void> {
    const commands = [...this.#commands];
    for (const command of commands) command.stop("abandoned");
    for (const command of commands) await this.#endCommand(command);
  }

  /** Ends a command and what it left. */
  async #endCommand(command: BoxdCommand): Promise<void> {
    command.stop("abandoned");
    await command.gone;
    if (command.isLost) await this.#recover(command);
  }

  /** An engine that does not answer leaves this to the next use of the box. */
  async #recover({ connection }: BoxdCommand): Promise<void> {
    const { session, logger } = this.#deps;
    try {
      await session.recover(connection);
    } catch (error) {
      logger.warn({ container: session.container }, "The box could not be cleared.", error);
    }
  }
}

async function* tellOutput(command: BoxdCommand): AsyncGenerator<ExecEvent, void> {
  for (let piece = await command.output.next(); piece !== null; piece = await command.output.next())
    yield { type: "output", ...piece };
}

function isFull(ending: CommandEnding): boolean {
  return ending.type === "fault" && ending.word === "busy";
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
