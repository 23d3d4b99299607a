/** Reads an event stream by its standard, on bytes: only its own line ends divide lines (local-agent §12.1). */

export interface SseMessage {
  /** Value of the last `event` field; empty when there was none. */
  readonly event: string;
  /** The `data` lines, joined by line breaks. */
  readonly data: string;
}

const LF = 0x0a;
const CR = 0x0d;

export class SseParser {
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Pieces of the line that has not ended. */
  #pieces: Uint8Array[] = [];
  #lineBytes = 0;
  #messageBytes = 0;
  #afterCr = false;
  #isFirstLine = true;
  #event = "";
  #data: string[] = [];

  /** @param maxBytes Most bytes of one message. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @throws RangeError when one message is larger than the limit */
  push(bytes: Uint8Array): readonly SseMessage[] {
    const messages: SseMessage[] = [];
    let start = 0;
    for (let i = 0; i < bytes.length; i += 1) {
      const byte = bytes[i];
      if (byte === LF && this.#afterCr && i === start) {
        // The second half of a line end that was counted at its carriage return.
        start = i + 1;
      } else if (byte === LF || byte === CR) {
        this.#keep(bytes.subarray(start, i));
        start = i + 1;
        const message = this.#endLine();
        if (message !== null) messages.push(message);
      }
      this.#afterCr = byte === CR;
    }
    this.#keep(bytes.subarray(start));
    return messages;
  }

  /** What a stream has left that ends without the closing blank line; many servers end like that. */
  end(): readonly SseMessage[] {
    const last = this.#lineBytes > 0 ? this.#endLine() : null;
    const message = last ?? this.#takeMessage();
    return message === null ? [] : [message];
  }

  #keep(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#lineBytes += piece.length;
    if (this.#messageBytes + this.#lineBytes > this.#maxBytes)
      throw new RangeError(`One event is larger than ${this.#maxBytes} bytes.`);
    this.#pieces.push(Uint8Array.from(piece));
  }

  /** @returns the message that a blank line closes */
  #endLine(): SseMessage | null {
    const text = this.#decoder.decode(Buffer.concat(this.#pieces));
    const line = this.#isFirstLine ? text.replace(/^\uFEFF/, "") : text;
    this.#messageBytes += this.#lineBytes;
    this.#isFirstLine = false;
    this.#pieces = [];
    this.#lineBytes = 0;
    if (line === "") return this.#takeMessage();
    this.#takeField(line);
    return null;
  }

  #takeField(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
  }

  #takeMessage(): SseMessage | null {
    const message = this.#data.length === 0 ? null : { event: this.#event, data: this.#data.join("\n") };
    this.#event = "";
    this.#data = [];
    this.#messageBytes = 0;
    return message;
  }
}
