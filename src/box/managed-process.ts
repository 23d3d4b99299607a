/** A process of a box under the care of the service: it is read all the time, keeps its box awake, and is noticed when it ends. */
import type { ExecExit } from "../domain/box.js";
import { toServiceError } from "../domain/errors.js";
import { KEPT_OUTPUT_BYTES, STOP_GRACE_SEC } from "../domain/job.js";
import { ChangeSignal } from "../lib/change-signal.js";
import { endsWithin } from "../lib/delay.js";
import { KeyedLock } from "../lib/keyed-lock.js";
import type { BoxProcess, ExecEvent, TerminalSize } from "../ports/box-handle.js";
import type { JobOutput, OutputPart } from "../ports/box-jobs.js";
import type { Clock } from "../ports/clock.js";
import type { CallOptions } from "../ports/options.js";
import { OutputPace } from "./output-pace.js";
import { ProcessOutput } from "./process-output.js";

/** A follower that is so far behind makes the process wait. */
const MAX_LAG_BYTES = KEPT_OUTPUT_BYTES / 2;

/** Only a change ends the waiting. */
const UNHURRIED: CallOptions = { signal: new AbortController().signal };

export interface ManagedProcessDeps {
  readonly process: BoxProcess;
  /** Keeps the box; given back when the process is gone. */
  readonly lease: AsyncDisposable;
  readonly clock: Clock;
  /** What is read of the process; its own events if not given. */
  readonly events?: AsyncIterable<ExecEvent> | undefined;
  /** Sees every piece of output, too. */
  readonly onOutput?: ((part: OutputPart) => void) | undefined;
}

/** Follows the output; while it is there, nothing is lost for being slow. */
export interface OutputFollower extends Disposable {
  /** Waits for more. @returns null when all was read and nothing comes any more, or another follower took over */
  read(maxBytes: number, options: CallOptions): Promise<JobOutput | null>;
}

export interface EndTime {
  /** Unix milliseconds. */
  readonly now: number;
  /** On the clock that never runs backwards. */
  readonly elapsed: number;
}

interface Following {
  offset: number;
}

export class ManagedProcess {
  readonly output = new ProcessOutput(KEPT_OUTPUT_BYTES);
  /** Settles when nothing of the process is left and its box was given back. Never rejects. */
  readonly closed: Promise<void>;
  readonly #deps: ManagedProcessDeps;
  readonly #changes = new ChangeSignal();
  readonly #inputs = new KeyedLock<"input">();
  /** The process is stopped: what it says is read as fast as it comes. */
  readonly #hurry = new ChangeSignal();
  #isHurried = false;
  #exit: ExecExit | null = null;
  #endedAt: EndTime | null = null;
  #isClosed = false;
  #follower: Following | null = null;
  #stopping: Promise<void> | null = null;

  private constructor(deps: ManagedProcessDeps) {
    this.#deps = deps;
    this.closed = this.#live();
  }

  /** Takes over a process that has just begun, and its lease. */
  static manage(deps: ManagedProcessDeps): ManagedProcess {
    return new ManagedProcess(deps);
  }

  /** How the process ended; null while it runs. */
  get exit(): ExecExit | null {
    return this.#exit;
  }

  /** Null while it runs. */
  get endedAt(): EndTime | null {
    return this.#endedAt;
  }

  /** Whether nothing of it is left and its box was given back. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isFollowed(): boolean {
    return this.#follower !== null;
  }

  /** Waits until there is output behind `offset` or the process has ended; at most `timeoutMs`. */
  async more(offset: number, timeoutMs: number, options: CallOptions): Promise<void> {
    await this.#until(() => this.output.end > offset || this.#exit !== null, timeoutMs, options);
  }

  /** Waits for the end of the process, at most `timeoutMs`. */
  async ended(timeoutMs: number, options: CallOptions): Promise<void> {
    await this.#until(() => this.#exit !== null, timeoutMs, options);
  }

  /** @throws ServiceError `box.process_not_found` when the process has ended; the abort's reason after an abort */
  async write(bytes: Uint8Array, options: CallOptions): Promise<void> {
    using _turn = await this.#inputs.acquire("input", options);
    await this.#deps.process.write(bytes, options);
  }

  /** @throws ServiceError as `write` */
  async endInput(options: CallOptions): Promise<void> {
    using _turn = await this.#inputs.acquire("input", options);
    await this.#deps.process.endInput(options);
  }

  resize(size: TerminalSize): void {
    this.#deps.process.resize(size);
  }

  /** Follows the output from an offset on, in the place of whoever did so before. */
  follow(offset: number): OutputFollower {
    const following: Following = { offset };
    this.#follower = following;
    this.#changes.notify();
    return {
      read: (maxBytes, options) => this.#readNext(following, maxBytes, options),
      [Symbol.dispose]: () => {
        if (this.#follower !== following) return;
        this.#follower = null;
        this.#changes.notify();
      },
    };
  }

  /** TERM, then after 5 s the end of the whole tree. Resolves when nothing of it is left. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    await this.#stopping;
  }

  /** Ends the whole tree at once. Resolves when nothing of it is left. */
  async kill(): Promise<void> {
    this.#readFast();
    this.#deps.process.kill();
    await this.closed;
  }

  async #stop(): Promise<void> {
    this.#readFast();
    this.#deps.process.terminate();
    if (!(await endsWithin(this.closed, STOP_GRACE_SEC * 1000))) await this.kill();
  }

  #readFast(): void {
    this.#isHurried = true;
    this.#hurry.notify();
    this.#changes.notify();
  }

  async #live(): Promise<void> {
    const { process, lease, clock } = this.#deps;
    {
      await using _lease = lease;
      await using _process = process;
      this.#exit = await this.#readToEnd();
      this.#endedAt = { now: clock.now(), elapsed: clock.elapsed() };
      this.#changes.notify();
    }
    this.#isClosed = true;
  }

  async #readToEnd(): Promise<ExecExit> {
    const { process, clock } = this.#deps;
    const pace = new OutputPace(clock.elapsed());
    try {
      for await (const event of this.#deps.events ?? process.events) {
        if (event.type === "exit") return event.exit;
        this.output.push(event.stream, event.bytes);
        this.#deps.onOutput?.(event);
        this.#changes.notify();
        await this.#holdBack(pace.take(event.bytes.length, clock.elapsed()));
      }
      return lostExit("The box ended the process without saying how.");
    } catch (error) {
      return lostExit(toServiceError(error).message);
    }
  }

  /** Makes the process wait for a follower that lags behind, and a flood that nobody follows go slower. */
  async #holdBack(waitMs: number): Promise<void> {
    while (this.#lag > MAX_LAG_BYTES && !this.#isHurried) await this.#changes.next(UNHURRIED);
    if (waitMs > 0 && this.#follower === null && !this.#isHurried)
      await this.#hurry.next({ ...UNHURRIED, timeoutMs: waitMs });
  }

  get #lag(): number {
    return this.#follower === null ? 0 : this.output.end - this.#follower.offset;
  }

  async #readNext(following: Following, maxBytes: number, options: CallOptions): Promise<JobOutput | null> {
    const isOver = (): boolean => this.#follower !== following;
    await this.#until(
      () => isOver() || this.output.end > following.offset || this.#exit !== null,
      null,
      options,
    );
    if (isOver() || this.output.end <= following.offset) return null;
    const read = this.output.read(following.offset, maxBytes);
    following.offset = read.next;
    this.#changes.notify();
    return read;
  }

  async #until(holds: () => boolean, timeoutMs: number | null, options: CallOptions): Promise<void> {
    const { clock } = this.#deps;
    const end = timeoutMs === null ? null : clock.elapsed() + timeoutMs;
    while (!holds()) {
      const leftMs = end === null ? undefined : end - clock.elapsed();
      const isInTime = await this.#changes.next({ ...options, timeoutMs: leftMs });
      if (!isInTime) return;
    }
  }
}

/** An exit that nobody told: the process is stopped, whatever became of it. */
function lostExit(note: string): ExecExit {
  return { status: "killed", exitCode: null, durationMs: 0, leftovers: 0, notes: [note] };
}
