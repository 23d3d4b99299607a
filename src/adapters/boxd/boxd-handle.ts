/** A box under one lease: commands and files over the helper that all leases share, and the end of what this one left (box §12). */
import type { ExecExit } from "../../domain/box.js";
import { type CommandPlan, planCommand } from "../../domain/command-plan.js";
import { ServiceError } from "../../domain/errors.js";
import { roomNote } from "../../domain/exec-outcome.js";
import type {
  BoxFiles,
  BoxHandle,
  BoxProcess,
  ExecEvent,
  ExecRequest,
  SpawnRequest,
} from "../../ports/box-handle.js";
import type { Clock } from "../../ports/clock.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import { BoxdCommand, type CommandEnding } from "./boxd-command.js";
import { BoxdFiles } from "./boxd-files.js";
import { BoxdProcess } from "./boxd-process.js";
import {
  type ConcludeDeps,
  concludeCommand,
  type Ended,
  type EndedCommand,
  refuseCommand,
} from "./conclude-command.js";
import { askSpawn, type SpawnFacts } from "./questions.js";
import type { SharedHelper } from "./shared-helper.js";

/** What a request holds besides the command. */
const MAX_COMMAND_BYTES = 960 * 1024;
/** The helper stops a command by itself when the service did not, so much later. */
const SECOND_LINE_MS = 1000;

export interface BoxdHandleDeps {
  readonly session: SharedHelper;
  readonly clock: Clock;
  readonly logger: Logger;
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
      return await concludeCommand(this.#finishing, { command, request, ...end });
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

  get #finishing(): ConcludeDeps {
    return { session: this.#deps.session, own: this.#commands };
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
    yield {
      type: "exit",
      exit: await concludeCommand(this.#finishing, { command, request, ...(await ended) }),
    };
  }

  /** @throws why the process does not run; nothing of it is left */
  async #refuseSpawn(command: BoxdCommand, request: SpawnRequest, options: CallOptions): Promise<never> {
    const ending = command.hasEnded ? await command.ending : null;
    await this.#endCommand(command);
    options.signal.throwIfAborted();
    if (ending?.type === "fault") throw await refuseCommand(this.#finishing, request, ending.word);
    throw new ServiceError(
      "box.engine_unavailable",
      "The helper in the box was lost while it started a process.",
    );
  }

  /** Ends what earlier commands of this lease left running. @returns whether there was anything */
  async #endLeftovers(): Promise<boolean> {
    const leftovers = [...this.#commands].filter(({ hasBegun, hasEnded }) => hasBegun && hasEnded);
    await Promise.all(leftovers.map(async (command) => this.#endCommand(command)));
    return leftovers.length > 0;
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
