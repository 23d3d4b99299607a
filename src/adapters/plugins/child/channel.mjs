/** JSON lines to and from the service, with back-pressure. */
import { Socket } from "node:net";

/** As the service's limit: a longer line would cost every run of this process. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

export class Channel {
  #socket;
  /** @type {Promise<void> | null} */
  #drained = null;

  /** @param {number} fd */
  constructor(fd) {
    this.#socket = new Socket({ fd, readable: true, writable: true });
    // Whatever breaks it, the reader sees the end.
    this.#socket.on("error", () => this.#socket.destroy());
  }

  /**
   * Resolves when there is room for more.
   * @param {Readonly<Record<string, unknown>>} frame
   * @throws {TypeError | RangeError} when it cannot be written as one line
   */
  async send(frame) {
    const line = `${JSON.stringify(frame)}\n`;
    if (Buffer.byteLength(line) > MAX_LINE_BYTES)
      throw new RangeError(`One message to the service may have ${MAX_LINE_BYTES} bytes.`);
    if (!this.#socket.write(line)) await this.#drain();
  }

  async #drain() {
    this.#drained ??= new Promise((resolve) => {
      const end = () => {
        this.#drained = null;
        this.#socket.off("drain", end).off("close", end);
        resolve();
      };
      this.#socket.on("drain", end).on("close", end);
    });
    await this.#drained;
  }

  /** @returns {AsyncGenerator<import("../frames.js").HostFrame, void>} what the service says; it is trusted */
  async *frames() {
    /** @type {Buffer[]} */
    let pieces = [];
    for await (const piece of bytesOf(this.#socket)) {
      let start = 0;
      for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, start)) {
        pieces.push(piece.subarray(start, end));
        yield parse(Buffer.concat(pieces).toString("utf8"));
        pieces = [];
        start = end + 1;
      }
      if (start < piece.length) pieces.push(piece.subarray(start));
    }
  }
}

/** @param {Socket} socket @returns {AsyncIterable<Buffer>} */
function bytesOf(socket) {
  return socket;
}

/** @param {string} line @returns {import("../frames.js").HostFrame} */
function parse(line) {
  return JSON.parse(line);
}
