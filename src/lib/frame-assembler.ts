/** Puts length-prefixed frames together from pieces cut anywhere. Holds at most one unfinished frame. */

/** A frame whose header is read: its payload is allocated whole and filled as bytes come. */
export interface BegunFrame {
  readonly payload: Buffer;
}

export class FrameAssembler<Frame extends BegunFrame> {
  readonly #header: Buffer;
  readonly #begin: (header: Buffer) => Frame;
  #headerFilled = 0;
  #frame: Frame | null = null;
  #payloadFilled = 0;

  /** @param begin reads a whole header and allocates the payload, or throws for one that is not to be believed */
  constructor(headerBytes: number, begin: (header: Buffer) => Frame) {
    this.#header = Buffer.alloc(headerBytes);
    this.#begin = begin;
  }

  /** Whether a frame has begun and is not complete. */
  get isInsideFrame(): boolean {
    return this.#headerFilled > 0;
  }

  /** @returns the frames that this piece completes */
  push(piece: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    let rest = piece;
    for (;;) {
      if (this.#frame === null) rest = this.#fillHeader(rest);
      if (this.#frame === null) return frames;
      const take = rest.subarray(0, this.#frame.payload.length - this.#payloadFilled);
      this.#frame.payload.set(take, this.#payloadFilled);
      this.#payloadFilled += take.length;
      rest = rest.subarray(take.length);
      if (this.#payloadFilled < this.#frame.payload.length) return frames;
      frames.push(this.#frame);
      this.#frame = null;
      this.#headerFilled = 0;
    }
  }

  #fillHeader(piece: Uint8Array): Uint8Array {
    const take = piece.subarray(0, this.#header.length - this.#headerFilled);
    this.#header.set(take, this.#headerFilled);
    this.#headerFilled += take.length;
    if (this.#headerFilled === this.#header.length) {
      this.#frame = this.#begin(this.#header);
      this.#payloadFilled = 0;
    }
    return piece.subarray(take.length);
  }
}
