/** Output of a command on its way to whoever reads it. The helper's credit bounds it, so nobody else ever waits for the reader. */
import { Credit } from "./credit.js";
import { WINDOW_BYTES } from "./questions.js";

const MAX_KEPT_BYTES = 1024 * 1024;

export type OutputStream = "stdout" | "stderr";

export interface OutputPiece {
  readonly stream: OutputStream;
  readonly bytes: Uint8Array;
}

/** One writer, one reader. */
export class CommandOutput {
  readonly #credits: Readonly<Record<OutputStream, Credit>>;
  readonly #pieces: OutputPiece[] = [];
  #heldBytes = 0;
  #isClosed = false;
  #isReleased = false;
  #wake: (() => void) | null = null;

  /** @param grant tells the helper that it may say so much more on a stream */
  constructor(grant: (stream: OutputStream, bytes: number) => void) {
    this.#credits = {
      stdout: new Credit(WINDOW_BYTES, (bytes) => grant("stdout", bytes)),
      stderr: new Credit(WINDOW_BYTES, (bytes) => grant("stderr", bytes)),
    };
  }

  /** After `release`, what is above 1 MiB is dropped. @throws ServiceError when the helper says more than it may */
  push(piece: OutputPiece): void {
    this.#credits[piece.stream].use(piece.bytes);
    if (this.#isReleased) this.#credits[piece.stream].giveBack(piece.bytes);
    if (this.#isClosed || (this.#isReleased && this.#heldBytes > MAX_KEPT_BYTES)) return;
    this.#pieces.push(piece);
    this.#heldBytes += piece.bytes.length;
    this.#resume();
  }

  /** From here on the helper never waits for the reader: the end must be found out, whether anybody reads or not. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    for (const { stream, bytes } of this.#pieces) this.#credits[stream].giveBack(bytes);
  }

  /** Nothing comes after this; what is held can still be read. */
  close(): void {
    this.#isClosed = true;
    this.#resume();
  }

  /** @returns null when all has been read and nothing more comes */
  async next(): Promise<OutputPiece | null> {
    while (this.#pieces.length === 0 && !this.#isClosed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    const piece = this.#pieces.shift();
    if (piece === undefined) return null;
    this.#heldBytes -= piece.bytes.length;
    if (!this.#isReleased) this.#credits[piece.stream].giveBack(piece.bytes);
    return piece;
  }

  #resume(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
