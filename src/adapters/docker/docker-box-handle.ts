/** A box under one lease: commands and files through workers, and the end of what the commands left (box §12). */
import type { ExecExit } from "../../domain/box.js";
import { refusedWorkdir } from "../../domain/command-plan.js";
import { ServiceError } from "../../domain/errors.js";
import {
  BOX_ENDED_NOTE,
  CLEARING_NOTES,
  counterNotes,
  describeExit,
  statusOfStop,
  stopNotes,
} from "../../domain/exec-outcome.js";
import type { BoxFiles, BoxHandle, ExecEvent, ExecRequest } from "../../ports/box-handle.js";
import type { Clock } from "../../ports/clock.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import type { BoxAccess } from "./box-access.js";
import { type CommandEnding, CommandRun } from "./command-run.js";
import { makeExecBody } from "./exec-request.js";
import { WorkerFiles } from "./worker-files.js";

export interface DockerBoxHandleDeps {
  readonly access: BoxAccess;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A workspace that holds less may grow to it while the host's disk is down to its reserve. */
const GROWTH_MIB = 1;

interface EndedCommand {
  readonly run: CommandRun;
  readonly request: ExecRequest;
  readonly ending: CommandEnding;
  /** Whether the host's disk was down to its reserve when it started: then nothing was to grow. */
  readonly wasHostFull: boolean;
  readonly durationMs: number;
}

export class DockerBoxHandle implements BoxHandle {
  readonly files: BoxFiles;
  readonly #deps: DockerBoxHandleDeps;
  /** Commands that run or left something running, each with the promise of its worker's end. */
  readonly #runs = new Map<CommandRun, Promise<void>>();
  /** Whether a worker went away without saying that nothing is left. */
  #hasStrays = false;
  #closing: Promise<void> | null = null;

  constructor(deps: DockerBoxHandleDeps) {
    this.#deps = deps;
    const { access } = deps;
    this.files = new WorkerFiles(async (kind, body, options) => access.open(kind, body, options), {
      isHostFull: async () => (await access.isHostFull?.()) ?? false,
      explainNoSpace: async (sizeBytes) => access.explainNoSpace(sizeBytes),
    });
  }

  async *exec(request: ExecRequest, options: CallOptions): AsyncIterable<ExecEvent> {
    const { access, clock } = this.#deps;
    const wasHostFull = (await access.isHostFull?.()) ?? false;
    // The least limit there is: what the workspace holds at the first look, and whoever adds to it is stopped.
    const watched = wasHostFull ? { ...access.limits, quotaMib: GROWTH_MIB } : access.watchedLimits;
    const body = makeExecBody(request, watched);
    options.signal.throwIfAborted();
    if (this.#hasClosed()) throw new ServiceError("box.readiness", "The box was given back already.");
    const startedAt = clock.elapsed();
    const isStopped = async (): Promise<boolean> =>
      access.isStopped({ signal: new AbortController().signal });
    const run = this.#follow(new CommandRun(await access.open("commands", body, options), isStopped));
    const ended = run.ending.then((ending) => ({
      ending,
      durationMs: Math.round(clock.elapsed() - startedAt),
    }));
    const cancel = (): void => run.stop("cancelled");
    const timer = setTimeout(() => run.stop("timed_out"), request.timeoutMs);
    options.signal.addEventListener("abort", cancel, { once: true });
    if (options.signal.aborted || this.#hasClosed()) cancel();
    try {
      for (let piece = await run.output.next(); piece !== null; piece = await run.output.next())
        yield { type: "output", ...piece };
      yield { type: "exit", exit: await this.#conclude({ run, request, wasHostFull, ...(await ended) }) };
    } finally {
      clearTimeout(timer);
      options.signal.removeEventListener("abort", cancel);
      await this.#abandon(run);
    }
  }

  /** Workers give a command no input and no terminal, and nobody could end it after the service is gone. */
  async spawn(): Promise<never> {
    await Promise.resolve();
    throw new ServiceError("box.forbidden", "Boxes of this engine have no jobs and no terminals.", {
      hint: "The helper is missing: make its image with `npm run image`, then restart the service.",
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  #hasClosed(): boolean {
    return this.#closing !== null;
  }

  #follow(run: CommandRun): CommandRun {
    this.#runs.set(run, this.#settle(run));
    return run;
  }

  async #settle(run: CommandRun): Promise<void> {
    const isClean = await run.follow();
    this.#runs.delete(run);
    this.#hasStrays ||= !isClean;
  }

  async #conclude({ run, request, ending, wasHostFull, durationMs }: EndedCommand): Promise<ExecExit> {
    if (ending.type === "fault") throw refusedWorkdir(request.workdir, ending.fault);
    if (ending.type === "lost") return this.#concludeLost(run, request, durationMs);
    const { access } = this.#deps;
    const struck = ending.exit.disk;
    const disk =
      struck === null ? await access.fullDisk() : { ...struck, ...(wasHostFull ? { isHostFull: true } : {}) };
    return describeExit({
      exit: { ...ending.exit, disk },
      countersAtStart: run.countersAtStart,
      stopReason: run.stopReason,
      timeoutMs: request.timeoutMs,
      durationMs,
      limits: access.limits,
    });
  }

  async #concludeLost(run: CommandRun, request: ExecRequest, durationMs: number): Promise<ExecExit> {
    const { access } = this.#deps;
    const status = statusOfStop(run.stopReason);
    const fate = await access.findFate(run.execId);
    this.#deps.logger.warn(
      { container: access.container, outcome: fate.type },
      "The worker of a command ended without an answer.",
      run.diagnostics === "" ? undefined : new Error(run.diagnostics),
    );
    if (fate.type === "not_started") throw await this.#refuseFullBox();
    const notes = stopNotes(status, request.timeoutMs);
    if (fate.type === "box_ended") notes.push(BOX_ENDED_NOTE);
    else notes.push(...(await this.#clear(run)));
    return { status, exitCode: null, durationMs, leftovers: 0, notes };
  }

  /** No process could be started. What runs may end by itself; when nothing of this lease runs, the box is cleared. */
  async #refuseFullBox(): Promise<ServiceError> {
    const { limits } = this.#deps.access;
    const notes = this.#runs.size > 0 ? [] : await this.#clear(null);
    return new ServiceError("box.readiness", ["The box could not start the command.", ...notes].join(" "), {
      hint: `The box may be full of processes (limit ${limits.pids}), or its image has no python3. Try again.`,
    });
  }

  /** @returns notes on what it took and which limits of the box had struck */
  async #clear(run: CommandRun | null): Promise<string[]> {
    const { access } = this.#deps;
    const clearing = await access.clear();
    this.#hasStrays = false;
    if (clearing === null) return [BOX_ENDED_NOTE];
    const limitNotes =
      clearing.counters === null
        ? []
        : counterNotes(run?.countersAtStart ?? null, clearing.counters, access.limits);
    return [...limitNotes, CLEARING_NOTES[clearing.rung]];
  }

  /** Ends a command whose reader went away; nothing to do for one that has ended. */
  async #abandon(run: CommandRun): Promise<void> {
    if (run.hasEnded) return;
    run.stop("abandoned");
    const ending = await run.ending;
    if (ending.type === "lost") await this.#clearStrays();
  }

  async #close(): Promise<void> {
    const settled = [...this.#runs].map(async ([run, end]) => {
      run.stop("abandoned");
      await end;
    });
    await Promise.all(settled);
    if (this.#hasStrays) await this.#clearStrays();
  }

  /** An engine that does not answer leaves this to the next start of the service. */
  async #clearStrays(): Promise<void> {
    try {
      await this.#clear(null);
    } catch (error) {
      this.#deps.logger.warn(
        { container: this.#deps.access.container },
        "The box could not be cleared.",
        error,
      );
    }
  }
}
