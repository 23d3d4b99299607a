/** The one process of a package, from its first sign of life to its end; with it ends what it was working on, and nothing else. */
import { ServiceError } from "../../domain/errors.js";
import type { RunnerResult } from "../../domain/result.js";
import type { RunContext } from "../../domain/run-context.js";
import { abortReason } from "../../lib/abort-reason.js";
import { ChangeSignal } from "../../lib/change-signal.js";
import { endsWithin } from "../../lib/delay.js";
import { linkSignals } from "../../lib/link-signals.js";
import { TimeLimit } from "../../lib/time-limit.js";
import type { Clock } from "../../ports/clock.js";
import type { HostActions } from "../../ports/host-actions.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import type { PluginEvent } from "../../ports/plugin-packages.js";
import type { RunHost } from "../../ports/run-host.js";
import { type Answer, Asks } from "./asks.js";
import type { ChildFrame, HostFrame } from "./frames.js";
import { HostCalls } from "./host-calls.js";
import { PackageChannel } from "./package-channel.js";
import { PluginRun, RESULT_CREDIT } from "./plugin-run.js";
import { endError, judgeExit, type ProcessEnd } from "./process-end.js";
import { ProcessOutput } from "./process-output.js";
import type { InstalledPackage } from "./scan-packages.js";
import {
  killGroup,
  memoryLimitMb,
  type SpawnedPackage,
  type SpawnSettings,
  spawnPackage,
} from "./spawn-package.js";
import { ProcessWatch } from "./watch-process.js";

/** Milliseconds that a runner with the capability `interrupt` has to end by itself (runs §2.2). */
const INTERRUPT_MS = 5000;
/** Milliseconds that what a dead process has written last is waited for. */
const LAST_WORDS_MS = 500;
/** Words about runs that nobody knows. */
const MAX_STRAY = 10_000;
/** What may be on its way still when a run is left: its results and its end. */
const LEFT_ON_THE_WAY = RESULT_CREDIT + 1;
/** Milliseconds that a killed process is waited for. */
const GONE_MS = 5000;
const MIB = 1024 * 1024;
const NEVER = new AbortController().signal;

export interface ProcessDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly actions: HostActions;
  readonly settings: SpawnSettings & { readonly startMs: number };
}

export interface ProcessRun {
  readonly runnerName: string;
  readonly context: RunContext;
  readonly host: RunHost;
}

/** @throws ServiceError `runner.error` when it does not come up in time, and the signal's reason */
export async function startProcess(
  deps: ProcessDeps,
  installed: InstalledPackage,
  { signal }: CallOptions,
): Promise<PackageProcess> {
  const spawned = await spawnPackage(installed, deps.settings);
  if (spawned === null) throw endError(installed.id, { kind: "not_started" }, "");
  const process = new PackageProcess(deps, installed, spawned);
  await process.waitUntilReady({ signal });
  return process;
}

export class PackageProcess {
  readonly #deps: ProcessDeps;
  readonly #package: InstalledPackage;
  readonly #spawned: SpawnedPackage;
  readonly #channel: PackageChannel;
  readonly #output: ProcessOutput;
  readonly #watch: ProcessWatch;
  readonly #runs = new Map<string, PluginRun>();
  readonly #calls: HostCalls;
  readonly #asks: Asks;
  readonly #changed = new ChangeSignal();
  #isReady = false;
  #end: ProcessEnd | null = null;
  #isGone = false;
  /** Of `MAX_STRAY`; each run that is left gives leave for the rest of its stream. */
  #strays = 0;

  constructor(deps: ProcessDeps, installed: InstalledPackage, spawned: SpawnedPackage) {
    this.#deps = deps;
    this.#package = installed;
    this.#spawned = spawned;
    this.#output = new ProcessOutput({
      packageId: installed.id,
      logger: deps.logger,
      elapsed: () => deps.clock.elapsed(),
    });
    this.#channel = new PackageChannel(spawned.channel, {
      onFrame: (frame) => this.#take(frame),
      onFault: (cause) => this.#stop({ kind: "protocol", cause }),
    });
    const send = (frame: HostFrame): Promise<boolean> => this.#channel.send(frame);
    this.#calls = new HostCalls({ ...deps, packageId: installed.id, runs: this.#runs, send });
    this.#asks = new Asks(send);
    const memoryMb = memoryLimitMb(installed, deps.settings);
    const { hangMs } = deps.settings;
    this.#watch = new ProcessWatch({
      pid: spawned.pid,
      hangMs,
      memoryBytes: memoryMb * MIB,
      onHang: () => this.#stop({ kind: "hung", limitMs: hangMs }),
      onMemory: () => this.#stop({ kind: "memory", limitMb: memoryMb }),
    });
  }

  /** Whether it takes new work. */
  get isAlive(): boolean {
    return this.#end === null;
  }

  get isIdle(): boolean {
    return this.#runs.size === 0 && this.#asks.count === 0;
  }

  /** Follows the process. @throws ServiceError `runner.error` when it is not ready in time; it is ended then */
  async waitUntilReady({ signal }: CallOptions): Promise<void> {
    for (const stream of this.#spawned.outputs) this.#output.follow(stream);
    this.#spawned.child.once("exit", (exitCode, by) => this.#exit(exitCode, by));
    using limit = new TimeLimit(() => endError(this.#package.id, { kind: "not_started" }, this.#output.tail));
    limit.restart(this.#deps.settings.startMs);
    using linked = linkSignals(signal, limit.signal);
    try {
      while (!this.#isReady && this.#end === null) await this.#changed.next(linked);
      if (this.#end !== null) throw this.#failure();
      this.#watch.start();
    } catch (error) {
      this.#stop({ kind: "not_started" });
      throw error;
    }
  }

  /** @throws ServiceError `runner.*`, and the signal's reason */
  async *run(
    { runnerName, context, host }: ProcessRun,
    { signal }: CallOptions,
  ): AsyncGenerator<RunnerResult, void> {
    const { run_id } = context;
    if (this.#runs.has(run_id)) throw new ServiceError("internal", "This run is in its package already.");
    signal.throwIfAborted();
    using run = new PluginRun(host);
    using grace = new TimeLimit(() => abortReason(signal));
    const cancel = (): void => this.#cancel(run_id, { run, grace, signal, runnerName });
    grace.signal.addEventListener("abort", () => run.end(abortReason(signal)), { once: true });
    signal.addEventListener("abort", cancel, { once: true });
    this.#runs.set(run_id, run);
    try {
      const frame = { type: "run", run_id, runner: runnerName, context, credit: RESULT_CREDIT } as const;
      if (!(await this.#channel.send(frame)))
        throw new ServiceError("runner.error", "The run's context is too large for a package.");
      yield* run.results(() => void this.#channel.send({ type: "more", run_id, count: 1 }));
    } finally {
      signal.removeEventListener("abort", cancel);
      this.#runs.delete(run_id);
      this.#strays -= LEFT_ON_THE_WAY;
      void this.#channel.send({ type: "forget", run_id });
      this.#changed.notify();
    }
  }

  /** The runner hears of it; one that does not end by itself is left at once (runs §2.2). */
  #cancel(
    runId: string,
    of: { run: PluginRun; grace: TimeLimit; signal: AbortSignal; runnerName: string },
  ): void {
    const reason = abortReason(of.signal);
    void this.#channel.send({ type: "cancel", run_id: runId, reason: reason.message });
    if (this.#package.interruptible.has(of.runnerName)) of.grace.restart(INTERRUPT_MS);
    else of.run.end(reason);
  }

  async callTool(
    call: { readonly name: string; readonly parameters: Readonly<Record<string, unknown>> },
    options: CallOptions,
  ): Promise<Answer> {
    return this.#ask(() => this.#asks.ask({ type: "tool", ...call }, options));
  }

  async offerEvent(event: PluginEvent, options: CallOptions): Promise<Answer> {
    return this.#ask(() => this.#asks.ask({ type: "event", event }, options));
  }

  async #ask(work: () => Promise<Answer>): Promise<Answer> {
    if (this.#end !== null) throw this.#failure();
    try {
      return await work();
    } finally {
      this.#changed.notify();
    }
  }

  /** Waits until nothing is going on in it, then ends it; for a package that was changed or removed. */
  async retire(options: CallOptions): Promise<void> {
    while (!this.isIdle && this.#end === null) await this.#changed.next(options);
    await this.stop();
  }

  /** Ends it, and with it all that it works on; one that the system does not let go of holds up nobody. */
  async stop(): Promise<void> {
    this.#stop({ kind: "stopped" });
    await endsWithin(this.gone(), GONE_MS);
  }

  /** Waits until nothing of it is left. @returns why it ended */
  async gone(): Promise<ProcessEnd["kind"]> {
    while (!this.#isGone || this.#end === null) await this.#changed.next({ signal: NEVER });
    return this.#end.kind;
  }

  #take(frame: ChildFrame): void {
    if (this.#end !== null) return;
    switch (frame.type) {
      case "ready":
        this.#isReady = true;
        this.#changed.notify();
        break;
      case "alive":
        this.#watch.sign();
        break;
      case "call":
        this.#calls.take(frame);
        break;
      case "leave":
        this.#calls.leave(frame.id);
        break;
      case "answer":
      case "no_answer":
        this.#asks.take(frame);
        break;
      default:
        this.#takeOfRun(frame);
    }
  }

  /** Whatever is said of a run that does not execute here changes nothing (runs §15.4). */
  #takeOfRun(frame: Extract<ChildFrame, { type: "result" | "ended" | "failed" }>): void {
    const run = this.#runs.get(frame.run_id);
    if (run === undefined) this.#strays += 1;
    else if (frame.type === "result") run.push(frame.result);
    else run.end(frame.type === "ended" ? null : thrown(frame.error));
    if (this.#strays > MAX_STRAY)
      throw new ServiceError("runner.protocol", "The package speaks of runs that it does not have.");
  }

  #exit(exitCode: number | null, by: string | null): void {
    // What it started may hold its outputs open.
    killGroup(this.#spawned.pid);
    const finish = (): void => {
      clearTimeout(timer);
      const memoryMb = memoryLimitMb(this.#package, this.#deps.settings);
      this.#stop(judgeExit({ exitCode, signal: by }, this.#output.tail, memoryMb));
      // Held open by what has left the group of the process.
      for (const stream of this.#spawned.outputs) stream.destroy();
      this.#isGone = true;
      this.#changed.notify();
    };
    const timer = setTimeout(finish, LAST_WORDS_MS);
    this.#spawned.child.once("close", finish);
  }

  /** Once: the first reason counts. */
  #stop(end: ProcessEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#watch[Symbol.dispose]();
    killGroup(this.#spawned.pid);
    this.#channel.close();
    for (const run of this.#runs.values()) run.end(this.#failure());
    this.#asks.endAll(() => this.#failure());
    this.#changed.notify();
    if (end.kind === "stopped") return;
    const { code, cause } = this.#failure();
    const fields = { package: this.#package.id, reason: end.kind, code };
    this.#deps.logger.warn(fields, "The process of a package has ended.", cause);
  }

  /** A new one each time: every run fails with an error of its own. */
  #failure(): ServiceError {
    return endError(this.#package.id, this.#end ?? { kind: "stopped" }, this.#output.tail);
  }
}

function thrown(report: string): ServiceError {
  return new ServiceError("runner.error", "The runner failed in an unexpected way.", {
    cause: new Error(report),
  });
}
