/** One running worker in the box: frames in both directions over the engine's exec stream, with back-pressure. */
import type { Duplex } from "node:stream";
import { EngineDemuxer } from "./engine-demuxer.js";
import { createFrameDecoder, encodeFrame, type ToWorkerType, type WorkerFrame } from "./frame-codec.js";
import { waitForDrain } from "./wait-for-drain.js";

const DIAGNOSTIC_BYTES = 4096;

/** Identifies the exec on the engine, so that its end can be looked up. */
export interface WorkerLink extends Disposable {
  readonly execId: string;
  /** Resolves when the stream has taken the bytes and wants more. @throws when the stream is gone */
  send(type: ToWorkerType, index: number, payload?: Uint8Array): Promise<void>;
  /** @returns null at the end of the stream. @throws ServiceError, or what ended the stream */
  next(): Promise<WorkerFrame | null>;
  /** What the worker wrote to its own stderr: at most 4 KiB, for the log only. */
  readonly diagnostics: string;
}

export class StreamWorkerLink implements WorkerLink {
  readonly execId: string;
  readonly #stream: Duplex;
  readonly #pieces: AsyncIterator<unknown>;
  readonly #demuxer = new EngineDemuxer();
  readonly #decoder = createFrameDecoder();
  readonly #frames: WorkerFrame[] = [];
  readonly #errors: Buffer[] = [];
  #errorBytes = 0;

  constructor(execId: string, stream: Duplex) {
    this.execId = execId;
    this.#stream = stream;
    // A write that fails is told by `send`; without a listener the event would end the process.
    stream.on("error", () => undefined);
    this.#pieces = stream[Symbol.asyncIterator]();
  }

  get diagnostics(): string {
    return Buffer.concat(this.#errors).toString("utf8");
  }

  async send(type: ToWorkerType, index: number, payload?: Uint8Array): Promise<void> {
    if (this.#stream.destroyed) throw new Error("The stream to the box is closed.");
    const isRoomy = this.#stream.write(encodeFrame(type, index, payload));
    if (!isRoomy) await waitForDrain(this.#stream);
  }

  async next(): Promise<WorkerFrame | null> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      const piece = await this.#pieces.next();
      if (piece.done === true) return null;
      if (piece.value instanceof Uint8Array) this.#take(piece.value);
    }
  }

  #take(piece: Uint8Array): void {
    for (const { stream, bytes } of this.#demuxer.push(piece)) {
      if (stream === "stdout") this.#frames.push(...this.#decoder.push(bytes));
      else this.#keepDiagnostic(bytes);
    }
  }

  #keepDiagnostic(bytes: Uint8Array): void {
    const kept = bytes.subarray(0, DIAGNOSTIC_BYTES - this.#errorBytes);
    this.#errorBytes += kept.length;
    if (kept.length > 0) this.#errors.push(Buffer.from(kept));
  }

  [Symbol.dispose](): void {
    this.#stream.destroy();
  }
}
