/** What the helper may say on one stream before it is told that it can say more. Holds it to that. */
import { helperFault } from "./frame-codec.js";
import { HEADER_BYTES } from "./protocol.js";

export class Credit {
  readonly #windowBytes: number;
  readonly #grant: (bytes: number) => void;
  /** What came and was not given back. */
  #usedBytes = 0;
  /** What was consumed and is not worth a frame yet. */
  #returnableBytes = 0;

  /** @param grant tells the helper that it may say so much more */
  constructor(windowBytes: number, grant: (bytes: number) => void) {
    this.#windowBytes = windowBytes;
    this.#grant = grant;
  }

  /** A frame came. @throws ServiceError when it was not allowed to */
  use(payload: Uint8Array): void {
    if (this.#usedBytes >= this.#windowBytes) throw helperFault("The box sent more than it was allowed to.");
    this.#usedBytes += costOf(payload);
  }

  /** A frame was consumed. */
  giveBack(payload: Uint8Array): void {
    this.#returnableBytes += costOf(payload);
    if (this.#returnableBytes * 4 < this.#windowBytes) return;
    this.#usedBytes -= this.#returnableBytes;
    this.#grant(this.#returnableBytes);
    this.#returnableBytes = 0;
  }
}

/** What a frame counts in a window. */
export function costOf(payload: Uint8Array): number {
  return HEADER_BYTES + payload.length;
}
