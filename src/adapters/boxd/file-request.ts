/** One file request to the helper: answers with back-pressure, contents within the helper's window, and a limit on doing nothing. */
import { ServiceError } from "../../domain/errors.js";
import { StallGuard } from "../../lib/stall-guard.js";
import type { CallOptions } from "../../ports/options.js";
import { busyBox, readCredit, readDone, readIndex, readWord } from "./answers.js";
import type { BoxdConnection, FrameSink } from "./boxd-connection.js";
import { Credit, costOf } from "./credit.js";
import { FieldWriter } from "./fields.js";
import { type BoxdFrame, helperFault } from "./frame-codec.js";
import { type AskType, DONE, HEAR, INDEX_WHOLE, MAX_PAYLOAD_BYTES, SAY } from "./protocol.js";
import { WINDOW_BYTES } from "./questions.js";

const STALL_MS = 30_000;
const EMPTY = new Uint8Array(0);

/** Starts the helper where there is none, and gives the connection to it. */
export type Connect = (options: CallOptions) => Promise<BoxdConnection>;

interface Question {
  readonly type: AskType;
  readonly body: Uint8Array;
}

export class FileRequest implements FrameSink, Disposable {
  readonly #connection: BoxdConnection;
  readonly #signal: AbortSignal;
  readonly #guard: StallGuard;
  readonly #credit: Credit;
  readonly #frames: BoxdFrame[] = [];
  #id = 0;
  #window: number;
  /** Set once nothing more comes. */
  #outcome: { readonly status: number } | { readonly lost: ServiceError } | null = null;
  #isCancelled = false;
  #isWaiting = false;
  #isPaused = false;
  readonly #waiting: Array<() => void> = [];
  #overdue: NodeJS.Timeout | null = null;

  private constructor(connection: BoxdConnection, options: CallOptions) {
    this.#connection = connection;
    this.#signal = options.signal;
    this.#window = connection.windowBytes;
    this.#credit = new Credit(WINDOW_BYTES, (bytes) =>
      connection.say(SAY.credit, this.#id, new FieldWriter().u8(0).u32(bytes).finish()),
    );
    this.#guard = new StallGuard(() => this.cancel(), STALL_MS, options);
  }

  static async begin(connect: Connect, question: Question, options: CallOptions): Promise<FileRequest> {
    const connection = await connect(options);
    await connection.slots.acquire(options);
    const request = new FileRequest(connection, options);
    try {
      request.#id = connection.ask(question.type, question.body, request);
      return request;
    } catch (error) {
      request.#settle({ status: DONE.cancelled });
      request[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * Reads the next frame. An answer that does not belong here ends the whole connection.
   * @returns null when the helper said that it is done
   * @throws ServiceError `box.engine_unavailable` when it ended without that; the abort's reason after an abort
   */
  async next<Value>(read: (frame: BoxdFrame) => Value): Promise<Value | null> {
    const frame = await this.#nextFrame();
    if (frame === null) return null;
    try {
      if (frame.type === HEAR.fault) refuseWhole(frame);
      return read(frame);
    } catch (error) {
      if (error instanceof ServiceError && error.code === "box.engine_unavailable")
        this.#connection.fail(error);
      throw error;
    }
  }

  /** Sends a piece of contents as the helper takes it. @throws ServiceError when the request is over */
  async sendContent(bytes: Uint8Array): Promise<void> {
    for (let start = 0; start < bytes.length; start += MAX_PAYLOAD_BYTES)
      await this.#say(SAY.data, bytes.subarray(start, start + MAX_PAYLOAD_BYTES));
  }

  /** The contents of one item are complete. */
  async endContent(): Promise<void> {
    await this.#say(SAY.end, EMPTY);
  }

  /** It is the service that keeps the box waiting, until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#update();
  }

  resume(): void {
    this.#isPaused = false;
    this.#update();
  }

  /** Takes the request back; what is half done is undone by the helper, which then says that it is over. */
  cancel(): void {
    if (this.#isCancelled || this.#outcome !== null) return;
    this.#isCancelled = true;
    this.#frames.length = 0;
    this.#connection.say(SAY.cancel, this.#id);
    this.#overdue = setTimeout(() => {
      this.#connection.fail(
        helperFault(`The helper did not end a cancelled request within ${STALL_MS / 1000} s.`),
      );
    }, STALL_MS);
    this.#wake();
  }

  /** Resolves when nothing of the request is under way any more. Never rejects. */
  async over(): Promise<void> {
    while (this.#outcome === null) await this.#change();
  }

  take(frame: BoxdFrame): void {
    if (frame.type === HEAR.done) {
      this.#settle({ status: readDone(frame) });
    } else if (frame.type === HEAR.credit) {
      this.#window += readCredit(frame);
      if (this.#window > this.#connection.windowBytes)
        throw helperFault("The box gave back more than it had got.");
      this.#wake();
    } else {
      this.#credit.use(frame.payload);
      if (this.#isCancelled) return;
      this.#frames.push(frame);
      this.#wake();
    }
  }

  lose(cause: ServiceError): void {
    this.#settle({ lost: cause });
  }

  /** The error of a request whose outcome cannot be known. */
  lost(): ServiceError {
    if (this.#outcome !== null && "lost" in this.#outcome) return this.#outcome.lost;
    const why = this.#guard.hasStalled
      ? `did not answer a file request within ${STALL_MS / 1000} s`
      : "ended a file request without an answer";
    return new ServiceError("box.engine_unavailable", `The box ${why}.`, {
      hint: "The outcome is unknown: look at the files in the box before trying again.",
    });
  }

  [Symbol.dispose](): void {
    this.#guard[Symbol.dispose]();
    this.cancel();
  }

  async #nextFrame(): Promise<BoxdFrame | null> {
    try {
      this.#isWaiting = true;
      for (;;) {
        this.#signal.throwIfAborted();
        this.#update();
        const frame = this.#frames.shift();
        if (frame !== undefined) {
          this.#credit.giveBack(frame.payload);
          return frame;
        }
        if (this.#outcome !== null && "status" in this.#outcome && this.#outcome.status === DONE.complete)
          return null;
        if (this.#outcome !== null || this.#guard.hasStalled) throw this.lost();
        await this.#change();
      }
    } finally {
      this.#isWaiting = false;
      this.#update();
    }
  }

  async #say(type: typeof SAY.data | typeof SAY.end, payload: Uint8Array): Promise<void> {
    const cost = costOf(payload);
    while (this.#window < cost || this.#outcome !== null || this.#isCancelled) {
      this.#signal.throwIfAborted();
      if (this.#outcome !== null || this.#isCancelled) throw this.lost();
      await this.#change();
    }
    this.#window -= cost;
    await this.#connection.send(type, this.#id, { payload, signal: this.#signal });
    this.#update();
  }

  async #change(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #settle(outcome: { readonly status: number } | { readonly lost: ServiceError }): void {
    this.#outcome = outcome;
    if (this.#overdue !== null) clearTimeout(this.#overdue);
    this.#connection.slots.release();
    this.#wake();
  }

  #wake(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }

  #update(): void {
    if (this.#isWaiting && !this.#isPaused && this.#outcome === null) this.#guard.arm();
    else this.#guard.rest();
  }
}

/** @throws ServiceError for a fault that is about no item */
function refuseWhole(frame: BoxdFrame): void {
  const indexed = readIndex(frame);
  if (indexed.index === INDEX_WHOLE) throw busyBox(readWord(indexed));
}
