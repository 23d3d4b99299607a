/** One command in a box, from its first frame to the end of the last process it left behind. */
import type { BoxCounters, CommandExit, StopReason } from "../../domain/exec-outcome.js";
import { brokenFrame, FROM_WORKER, TO_WORKER, type WorkerFrame } from "./frame-codec.js";
import { OutputQueue } from "./output-queue.js";
import type { WorkerLink } from "./worker-link.js";
import { exitSchema, fileFaultSchema, readPayload, startedSchema } from "./worker-wire.js";

/** The worker gets so long to end a tree before stronger means are used. */
const RUNG_ONE_MS = 1500;

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
  #escalation: NodeJS.Timeout | null = null;

  constructor(link: WorkerLink) {
    this.#link = link;
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
    if (this.#escalation !== null) clearTimeout(this.#escalation);
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
    if (this.#escalation !== null) return;
    this.#escalation = setTimeout(() => this.#link[Symbol.dispose](), RUNG_ONE_MS);
    // When this cannot be sent, the stream is gone and the pump has seen it.
    this.#link.send(TO_WORKER.kill, 0).catch(() => undefined);
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
