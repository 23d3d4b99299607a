/** Separates the engine's output frames: stream (1 byte), three zero bytes, length (4, big-endian), payload (box §18.3). */

export interface EngineChunk {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Uint8Array;
}

const HEADER_BYTES = 8;
const STREAMS: ReadonlyMap<number, EngineChunk["stream"]> = new Map([
  [0, "stdout"],
  [1, "stdout"],
  [2, "stderr"],
]);

/** Hands payload on as it comes and holds no more than a split header, whatever length a frame claims. */
export class EngineDemuxer {
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerFilled = 0;
  #stream: EngineChunk["stream"] = "stdout";
  #left = 0;

  /** @throws Error when the engine names a stream that does not exist */
  push(piece: Uint8Array): EngineChunk[] {
    const chunks: EngineChunk[] = [];
    let rest = piece;
    while (rest.length > 0) {
      if (this.#left === 0) {
        rest = this.#fillHeader(rest);
        continue;
      }
      const bytes = rest.subarray(0, this.#left);
      chunks.push({ stream: this.#stream, bytes });
      this.#left -= bytes.length;
      rest = rest.subarray(bytes.length);
    }
    return chunks;
  }

  #fillHeader(piece: Uint8Array): Uint8Array {
    const take = piece.subarray(0, HEADER_BYTES - this.#headerFilled);
    this.#header.set(take, this.#headerFilled);
    this.#headerFilled += take.length;
    if (this.#headerFilled === HEADER_BYTES) {
      const stream = STREAMS.get(this.#header.readUInt8(0));
      if (stream === undefined) throw new Error("The engine sent output of an unknown stream.");
      this.#stream = stream;
      this.#left = this.#header.readUInt32BE(4);
      this.#headerFilled = 0;
    }
    return piece.subarray(take.length);
  }
}
