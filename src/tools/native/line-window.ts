/** Some lines of a file of any size: counts all lines, keeps those asked for within a byte limit (box §13.1). */

const LINE_END = 0x0a;

export interface LineRequest {
  /** First line, from 1. */
  readonly startLine: number;
  readonly maxLines: number;
  /** Bytes of the kept lines together, line ends between them included. */
  readonly maxBytes: number;
}

/** A line that is above the byte limit by itself. */
export interface LongLine {
  readonly line: number;
  readonly sizeBytes: number;
  /** Where it begins in the file. */
  readonly byteOffset: number;
}

export interface LineSelection {
  /** The kept lines, joined by their line ends; without the end of the last one. */
  readonly bytes: Buffer;
  readonly keptLines: number;
  readonly totalLines: number;
  /** The limit that ended the selection; null = it reaches the end of the file. */
  readonly truncatedBy: "lines" | "bytes" | null;
  /** Set when the first line asked for does not fit: then no line is kept. */
  readonly longLine: LongLine | null;
}

/** Takes a file in pieces. Memory is bounded by `maxBytes`, whatever the length of file and lines. */
export class LineWindow {
  readonly #request: LineRequest;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #truncatedBy: "lines" | "bytes" | null = null;
  #longLine: LongLine | null = null;
  /** The line that is being read: its number, its length, and its bytes as long as they may be kept. */
  #line = 1;
  #lineBytes = 0;
  #parts: Buffer[] = [];
  #position = 0;

  constructor(request: LineRequest) {
    this.#request = request;
  }

  push(bytes: Uint8Array): void {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let start = 0;
    for (let end = piece.indexOf(LINE_END); end !== -1; end = piece.indexOf(LINE_END, start)) {
      this.#extendLine(piece, start, end);
      this.#endLine();
      this.#position += 1;
      start = end + 1;
    }
    this.#extendLine(piece, start, piece.length);
  }

  finish(): LineSelection {
    if (this.#lineBytes > 0) this.#endLine();
    return {
      bytes: Buffer.concat(this.#kept.flatMap((line, i) => (i === 0 ? [line] : [Buffer.of(LINE_END), line]))),
      keptLines: this.#kept.length,
      totalLines: this.#line - 1,
      truncatedBy: this.#truncatedBy,
      longLine: this.#longLine,
    };
  }

  get #isWanted(): boolean {
    return this.#line >= this.#request.startLine && this.#truncatedBy === null;
  }

  #extendLine(piece: Buffer, start: number, end: number): void {
    this.#position += end - start;
    this.#lineBytes += end - start;
    if (start === end || !this.#isWanted) return;
    // Copied: a view would keep the whole piece in memory.
    if (this.#lineBytes <= this.#request.maxBytes) this.#parts.push(Buffer.from(piece.subarray(start, end)));
    else this.#parts = [];
  }

  #endLine(): void {
    if (this.#isWanted) this.#takeLine();
    this.#parts = [];
    this.#lineBytes = 0;
    this.#line += 1;
  }

  #takeLine(): void {
    const separator = this.#kept.length === 0 ? 0 : 1;
    if (this.#kept.length >= this.#request.maxLines) {
      this.#truncatedBy = "lines";
    } else if (this.#keptBytes + separator + this.#lineBytes > this.#request.maxBytes) {
      this.#truncatedBy = "bytes";
      if (this.#kept.length === 0) this.#longLine = this.#describeLine();
    } else {
      this.#kept.push(Buffer.concat(this.#parts));
      this.#keptBytes += separator + this.#lineBytes;
    }
  }

  #describeLine(): LongLine {
    return { line: this.#line, sizeBytes: this.#lineBytes, byteOffset: this.#position - this.#lineBytes };
  }
}
