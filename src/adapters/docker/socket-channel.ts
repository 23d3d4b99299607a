/** A channel into a box over a unix socket that the helper dialled; its exec only brings what it complains of. */
import type { Duplex } from "node:stream";
import type { BoxChannel } from "../../ports/box-channel.js";
import type { CallOptions } from "../../ports/options.js";
import type { DialledHelper } from "./dialled-helper.js";
import { GatheredWrites } from "./gathered-writes.js";

export class SocketChannel implements BoxChannel {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly #socket: Duplex;
  readonly #helper: DialledHelper;
  readonly #writes: GatheredWrites;
  #hasEnded = false;

  constructor(socket: Duplex, helper: DialledHelper) {
    this.#socket = socket;
    this.#helper = helper;
    this.#writes = new GatheredWrites(socket);
    // A write that fails is told by `write`; without a listener the event would end the process.
    socket.on("error", () => undefined);
    this.bytes = this.#read();
  }

  get hasEnded(): boolean {
    return this.#hasEnded || this.#socket.destroyed;
  }

  get diagnostics(): string {
    return this.#helper.diagnostics;
  }

  async write(bytes: Uint8Array, { signal }: CallOptions): Promise<void> {
    if (this.hasEnded) throw new Error("The channel into the box has ended.");
    await this.#writes.write(bytes, signal);
  }

  async close(): Promise<void> {
    this.#hasEnded = true;
    this.#socket.destroy();
    this.#helper[Symbol.dispose]();
    await Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async *#read(): AsyncIterable<Uint8Array> {
    try {
      for await (const piece of this.#socket) if (piece instanceof Uint8Array) yield piece;
    } finally {
      this.#hasEnded = true;
    }
  }
}
