/** Hands output from the box to whoever reads it, and makes the box wait when that one is slow. */

const HIGH_WATER_BYTES = 256 * 1024;
const MAX_KEPT_BYTES = 1024 * 1024;
/** What a piece costs besides its bytes: a flood of single bytes must not outgrow the limits. */
const PIECE_BYTES = 256;

export interface OutputPiece {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Uint8Array;
}

/** One writer, one reader. */
export class OutputQueue {
  readonly #pieces: OutputPiece[] = [];
  #heldBytes = 0;
  #isClosed = false;
  #isReleased = false;
  #wakeReader: (() => void) | null = null;
  #wakeWriter: (() => void) | null = null;

  /** Resolves when there is room for more. After `release`, at once; what is above 1 MiB is dropped then. */
  async push(piece: OutputPiece): Promise<void> {
    if (this.#isClosed || (this.#isReleased && this.#heldBytes > MAX_KEPT_BYTES)) return;
    this.#pieces.push(piece);
    this.#heldBytes += piece.bytes.length + PIECE_BYTES;
    this.#wake("reader");
    while (this.#mustWait())
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
  }

  /** From here on the writer never waits: the end must be found out, whether anybody reads or not. */
  release(): void {
    this.#isReleased = true;
    this.#wake("writer");
  }

  /** Nothing comes after this; what is held can still be read. */
  close(): void {
    this.#isClosed = true;
    this.#wake("reader");
    this.#wake("writer");
  }

  /** @returns null when all has been read and nothing more comes */
  async next(): Promise<OutputPiece | null> {
    while (this.#pieces.length === 0 && !this.#isClosed)
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    const piece = this.#pieces.shift();
    if (piece === undefined) return null;
    this.#heldBytes -= piece.bytes.length + PIECE_BYTES;
    if (this.#heldBytes <= HIGH_WATER_BYTES) this.#wake("writer");
    return piece;
  }

  #mustWait(): boolean {
    return this.#heldBytes > HIGH_WATER_BYTES && !this.#isReleased && !this.#isClosed;
  }

  #wake(side: "reader" | "writer"): void {
    if (side === "reader") {
      this.#wakeReader?.();
      this.#wakeReader = null;
    } else {
      this.#wakeWriter?.();
      this.#wakeWriter = null;
    }
  }
}
