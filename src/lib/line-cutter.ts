/** Cuts bytes into lines, and never holds more of an unfinished one than the limit. */

const LF = 0x0a;

export class LineCutter {
  readonly #maxBytes: number;
  #pieces: Uint8Array[] = [];
  #held = 0;

  /** @param maxBytes of one line */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns the lines that this piece completes, without their ends. @throws RangeError for a line above the limit */
  *push(piece: Uint8Array): Generator<Buffer, void> {
    let start = 0;
    for (let end = piece.indexOf(LF); end >= 0; end = piece.indexOf(LF, start)) {
      this.#keep(piece.subarray(start, end));
      start = end + 1;
      const line = Buffer.concat(this.#pieces);
      this.#pieces = [];
      this.#held = 0;
      yield line;
    }
    this.#keep(piece.subarray(start));
  }

  #keep(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#held += piece.length;
    if (this.#held > this.#maxBytes) throw new RangeError(`One line is longer than ${this.#maxBytes} bytes.`);
    this.#pieces.push(piece);
  }
}
