/** The newest output of a process, in a ring of fixed size: whoever polls is told what is not kept any more (box §14.2). */
import type { JobOutput, OutputPart } from "../ports/box-jobs.js";

const FIRST_BYTES = 4096;
const STREAMS = ["stdout", "stderr"] as const;

export class ProcessOutput {
  readonly #capacity: number;
  /** Byte at offset `n` lies at `n % length`; until the ring is full that is `n` itself. */
  #bytes = new Uint8Array(0);
  /** To which stream each byte belongs. */
  #marks = new Uint8Array(0);
  #end = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Bytes that came so far: the offset of the next one. */
  get end(): number {
    return this.#end;
  }

  /** Offset of the oldest byte that is kept. */
  get start(): number {
    return Math.max(0, this.#end - this.#capacity);
  }

  push(stream: OutputPart["stream"], bytes: Uint8Array): void {
    const kept = bytes.subarray(Math.max(0, bytes.length - this.#capacity));
    this.#end += bytes.length - kept.length;
    this.#grow(Math.min(this.#end + kept.length, this.#capacity));
    const mark = STREAMS.indexOf(stream);
    const at = this.#end % this.#bytes.length || 0;
    const first = Math.min(kept.length, this.#bytes.length - at);
    this.#bytes.set(kept.subarray(0, first), at);
    this.#bytes.set(kept.subarray(first), 0);
    this.#marks.fill(mark, at, at + first);
    this.#marks.fill(mark, 0, kept.length - first);
    this.#end += kept.length;
  }

  /** @param after an offset; one behind the end counts as the end */
  read(after: number, maxBytes: number): JobOutput {
    const wanted = Math.min(after, this.#end);
    const from = Math.max(wanted, this.start);
    const next = Math.min(this.#end, from + maxBytes);
    return { parts: this.#parts(from, next), next, droppedBytes: from - wanted };
  }

  #parts(from: number, to: number): readonly OutputPart[] {
    const parts: OutputPart[] = [];
    for (let at = from; at < to; ) {
      const end = this.#runEnd(at, to);
      const index = at % this.#bytes.length;
      const stream = this.#marks[index] === 1 ? "stderr" : "stdout";
      parts.push({ stream, bytes: this.#bytes.slice(index, index + end - at) });
      at = end;
    }
    return parts;
  }

  /** End of what lies in one piece and belongs to one stream. */
  #runEnd(at: number, to: number): number {
    const index = at % this.#bytes.length;
    const room = Math.min(to - at, this.#bytes.length - index);
    const mark = this.#marks[index];
    let count = 1;
    while (count < room && this.#marks[index + count] === mark) count += 1;
    return at + count;
  }

  #grow(neededBytes: number): void {
    if (neededBytes <= this.#bytes.length) return;
    const size = Math.min(this.#capacity, Math.max(neededBytes, 2 * this.#bytes.length, FIRST_BYTES));
    const [bytes, marks] = [new Uint8Array(size), new Uint8Array(size)];
    bytes.set(this.#bytes);
    marks.set(this.#marks);
    this.#bytes = bytes;
    this.#marks = marks;
  }
}
