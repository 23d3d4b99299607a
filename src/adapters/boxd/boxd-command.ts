/** One command in a box, from its first frame to the end of the last process it left behind. */
import type { ServiceError } from "../../domain/errors.js";
import type { BoxCounters, CommandExit, DiskUse, StopReason } from "../../domain/exec-outcome.js";
import { endsUnlessStuck } from "../../lib/ends-unless-stuck.js";
import type { TerminalSize } from "../../ports/box-handle.js";
import { readCredit, readDone, readExit, readIndex, readStarted, readWord } from "./answers.js";
import type { BoxdConnection, FrameSink } from "./boxd-connection.js";
import { CommandInput } from "./command-input.js";
import { CommandOutput, type OutputStream } from "./command-output.js";
import { FieldWriter } from "./fields.js";
import { type BoxdFrame, helperFault } from "./frame-codec.js";
import { ASK, HEAR, KILL_DISCARD, KILL_TERM, KILL_TREE, SAY } from "./protocol.js";
import type { Watched } from "./quota-watch.js";

/** The helper gets so long to end a tree before stronger means are used; it kills a silent supervisor after one second. */
const RUNG_ONE_MS = 5000;
/** One that its box has stopped will not do it; that is looked for so often. */
const LOOK_MS = 400;
const STREAM_NUMBERS: Readonly<Record<OutputStream, number>> = { stdout: 0, stderr: 1 };

/** How the command's story ended. `lost`: its helper was gone before it had told an exit. */
export type CommandEnding =
  | { readonly type: "exit"; readonly exit: CommandExit }
  /** It was not started. */
  | { readonly type: "fault"; readonly word: string }
  | { readonly type: "lost"; readonly cause: ServiceError };

export interface BoxdCommandDeps {
  readonly connection: BoxdConnection;
  readonly body: Uint8Array;
  /** Whether the box has stopped its helper. Never rejects. */
  readonly isHelperStopped: () => Promise<boolean>;
  /** The helper did not end the tree in time, or cannot. */
  readonly onStuck: () => void;
}

export class BoxdCommand implements FrameSink, Watched {
  readonly output: CommandOutput;
  /** Of a command whose input is streamed. */
  readonly input: CommandInput;
  readonly connection: BoxdConnection;
  /** When it runs, or has ended without that. Never rejects. */
  readonly begun: Promise<void>;
  /** When the foreground process ended, or the helper was lost. Never rejects. */
  readonly ending: Promise<CommandEnding>;
  /** When nothing of the command is left, or the helper was lost. Never rejects. */
  readonly gone: Promise<void>;
  readonly #id: number;
  readonly #isHelperStopped: () => Promise<boolean>;
  readonly #onStuck: () => void;
  #begin: () => void = () => undefined;
  #end: (ending: CommandEnding) => void = () => undefined;
  #leave: () => void = () => undefined;
  #started: BoxCounters | null = null;
  #hasEnded = false;
  #isGone = false;
  #isLost = false;
  #stopReason: StopReason | null = null;
  #strike: DiskUse | null = null;
  #isKilled = false;

  /** @throws ServiceError when the connection is gone already: nothing was started */
  constructor({ connection, body, isHelperStopped, onStuck }: BoxdCommandDeps) {
    this.connection = connection;
    this.#isHelperStopped = isHelperStopped;
    this.#onStuck = onStuck;
    this.begun = new Promise((resolve) => {
      this.#begin = resolve;
    });
    this.ending = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.gone = new Promise((resolve) => {
      this.#leave = resolve;
    });
    this.output = new CommandOutput((stream, bytes) => this.#grant(stream, bytes));
    this.#id = connection.ask(ASK.spawn, body, this);
    this.input = new CommandInput(connection, this.#id);
  }

  /** Whether it ran. */
  get hasBegun(): boolean {
    return this.#started !== null;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Whether the helper was lost before all of the command was gone. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Why the service stopped the command; null when it did not. */
  get stopReason(): StopReason | null {
    return this.#stopReason;
  }

  /** What the workspace held when that ended the command; null when it did not. */
  get struck(): DiskUse | null {
    return this.#stopReason === null ? this.#strike : null;
  }

  /** The box's counters when the command started. */
  get countersAtStart(): BoxCounters | null {
    return this.#started;
  }

  /** Stops the command, or what it left behind, with all processes below it. The first reason stays. */
  stop(reason: StopReason): void {
    if (!this.#hasEnded && this.#strike === null) this.#stopReason ??= reason;
    this.#kill(reason === "abandoned" ? KILL_DISCARD : 0);
  }

  /** The workspace has grown above its limit. */
  strike(use: DiskUse): void {
    if (!this.#hasEnded) this.#strike ??= use;
    this.#kill(0);
  }

  /** Sends TERM to the whole tree; what comes of it is up to the tree. */
  terminate(): void {
    if (!this.#isGone) this.#sayKill(KILL_TERM, 0);
  }

  resize({ rows, columns }: TerminalSize): void {
    if (!this.#hasEnded)
      this.connection.say(SAY.resize, this.#id, new FieldWriter().u16(rows).u16(columns).finish());
  }

  #kill(flags: number): void {
    this.output.release();
    if (this.#isGone || this.#isKilled) return;
    this.#isKilled = true;
    this.#sayKill(KILL_TREE, flags);
    void this.#followKill();
  }

  async #followKill(): Promise<void> {
    const patience = { limitMs: RUNG_ONE_MS, lookMs: LOOK_MS, isStuck: this.#isHelperStopped };
    if (!(await endsUnlessStuck(this.gone, patience))) this.#onStuck();
  }

  #sayKill(mode: number, flags: number): void {
    this.connection.say(SAY.kill, this.#id, new FieldWriter().u8(mode).u8(flags).finish());
  }

  take(frame: BoxdFrame): void {
    switch (frame.type) {
      case HEAR.stdout:
      case HEAR.stderr:
        return this.#takeOutput(frame);
      case HEAR.started:
        return this.#takeStarted(frame);
      case HEAR.credit:
        return this.input.grant(readCredit(frame));
      case HEAR.exit:
        return this.#conclude({ type: "exit", exit: readExit(frame) });
      case HEAR.fault:
        return this.#conclude({ type: "fault", word: readWord(readIndex(frame)) });
      case HEAR.done:
        readDone(frame);
        if (!this.#hasEnded) throw helperFault("The box ended a command without an exit.");
        return this.#settle();
      default:
        throw helperFault(`The box sent a frame of type ${frame.type} while a command ran.`);
    }
  }

  lose(cause: ServiceError): void {
    this.#isLost = true;
    if (!this.#hasEnded) this.#conclude({ type: "lost", cause });
    this.#settle();
  }

  #takeStarted(frame: BoxdFrame): void {
    if (this.#started !== null || this.#hasEnded) throw helperFault("The box started a command twice.");
    this.#started = readStarted(frame);
    this.#begin();
  }

  #takeOutput(frame: BoxdFrame): void {
    if (this.#hasEnded) throw helperFault("The box sent output of a command that had ended.");
    this.output.push({ stream: frame.type === HEAR.stdout ? "stdout" : "stderr", bytes: frame.payload });
  }

  #conclude(ending: CommandEnding): void {
    if (this.#hasEnded) throw helperFault("The box ended a command twice.");
    this.#hasEnded = true;
    this.output.close();
    this.input.close();
    this.#begin();
    this.#end(ending);
  }

  #settle(): void {
    this.#isGone = true;
    this.#leave();
  }

  #grant(stream: OutputStream, bytes: number): void {
    const credit = new FieldWriter().u8(STREAM_NUMBERS[stream]).u32(bytes);
    if (!this.#hasEnded) this.connection.say(SAY.credit, this.#id, credit.finish());
  }
}
