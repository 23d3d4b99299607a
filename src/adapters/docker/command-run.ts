/** One command in a box, from its first frame to the end of the last process it left behind. */
import type { BoxCounters, CommandExit, StopReason } from "../../domain/exec-outcome.js";
import { endsUnlessStuck } from "../../lib/ends-unless-stuck.js";
import { brokenFrame, FROM_WORKER, TO_WORKER, type WorkerFrame } from "./frame-codec.js";
import { OutputQueue } from "./output-queue.js";
import type { WorkerLink } from "./worker-link.js";
import { exitSchema, fileFaultSchema, readPayload, startedSchema } from "./worker-wire.js";

/** The worker gets so long to end a tree before stronger means are used. */
const RUNG_ONE_MS = 1500;
/** One that the box has stopped will not do it; that is looked for so often. */
const LOOK_MS = 400;

/** How the worker's story ended. `lost`: its stream ended without an exit. */
export type CommandEnding =
  | { readonly type: "exit"; readonly exit: CommandExit }
  | { readonly type: "fault"; readonly fault: string }
  | { readonly type: "lost"; readonly cause: unknown };

export class CommandRun {
  readonly output = new OutputQueue();
  /** When the foreground process ended or the worker was lost. Never rejects. */
  readonly ending: Promise<CommandEnding>;
  readonly #link: WorkerLink;
  #end: (ending: CommandEnding) => void = () => undefined;
  #started: BoxCounters | null = null;
  #hasEnded = false;
  #stopReason: StopReason | null = null;
  readonly #isStopped: () => Promise<boolean>;
  #isKilled = false;
  #leave: () => void = () => undefined;
  /** When the worker is gone. */
  readonly #gone: Promise<void>;

  /** @param isStopped whether something in the box has stopped what the engine started there; never rejects */
  constructor(link: WorkerLink, isStopped: () => Promise<boolean>) {
    this.#link = link;
    this.#isStopped = isStopped;
    this.#gone = new Promise((resolve) => {
      this.#leave = resolve;
    });
    this.ending = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Reads what the worker says until it is gone. @returns whether it said that nothing is left behind; never rejects */
  async follow(): Promise<boolean> {
    let isClean = false;
    try {
      isClean = await this.#pump();
      this.#conclude({ type: "lost", cause: null });
    } catch (cause) {
      this.#conclude({ type: "lost", cause });
    }
    this.#leave();
    this.#link[Symbol.dispose]();
    return isClean;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Why the service stopped the command; null when it did not. */
  get stopReason(): StopReason | null {
    return this.#stopReason;
  }

  /** The box's counters when the command started. */
  get countersAtStart(): BoxCounters | null {
    return this.#started;
  }

  get execId(): string {
    return this.#link.execId;
  }

  get diagnostics(): string {
    return this.#link.diagnostics;
  }

  /** Stops the command, or what it left behind, with all processes below it. The first reason stays. */
  stop(reason: StopReason): void {
    if (!this.#hasEnded) this.#stopReason ??= reason;
    this.output.release();
    if (this.#isKilled) return;
    this.#isKilled = true;
    // When this cannot be sent, the stream is gone and the pump has seen it.
    this.#link.send(TO_WORKER.kill, 0).catch(() => undefined);
    void this.#followKill();
  }

  async #followKill(): Promise<void> {
    const patience = { limitMs: RUNG_ONE_MS, lookMs: LOOK_MS, isStuck: this.#isStopped };
    if (!(await endsUnlessStuck(this.#gone, patience))) this.#link[Symbol.dispose]();
  }

  async #pump(): Promise<boolean> {
    for (let frame = await this.#link.next(); frame !== null; frame = await this.#link.next()) {
      if (frame.type === FROM_WORKER.done) return true;
      await this.#take(frame);
    }
    return false;
  }

  async #take(frame: WorkerFrame): Promise<void> {
    switch (frame.type) {
      case FROM_WORKER.started:
        this.#started = readPayload(startedSchema, frame);
        return;
      case FROM_WORKER.stdout:
        return this.output.push({ stream: "stdout", bytes: frame.payload });
      case FROM_WORKER.stderr:
        return this.output.push({ stream: "stderr", bytes: frame.payload });
      case FROM_WORKER.exit:
        this.#conclude({ type: "exit", exit: readPayload(exitSchema, frame) });
        return;
      case FROM_WORKER.fault:
        this.#conclude({ type: "fault", fault: readPayload(fileFaultSchema, frame) });
        return;
      default:
        throw brokenFrame(`The box sent a frame of type ${frame.type} while a command ran.`);
    }
  }

  /** The first ending counts. */
  #conclude(ending: CommandEnding): void {
    this.#hasEnded = true;
    this.output.close();
    this.#end(ending);
  }
}
