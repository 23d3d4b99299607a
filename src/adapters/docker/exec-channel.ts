/** A channel into a box over an exec of the engine: stdin one way, stdout the other, stderr kept for the log. */
import type { Duplex } from "node:stream";
import type { BoxChannel } from "../../ports/box-channel.js";
import type { CallOptions } from "../../ports/options.js";
import { type EngineChunk, EngineDemuxer } from "./engine-demuxer.js";
import { ExecDiagnostics } from "./exec-diagnostics.js";
import { GatheredWrites } from "./gathered-writes.js";

export class ExecChannel implements BoxChannel {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly #stream: Duplex;
  readonly #writes: GatheredWrites;
  readonly #errors = new ExecDiagnostics();
  #hasEnded = false;

  /** @param stream the exec's connection, with the engine's framing on what comes */
  constructor(stream: Duplex) {
    this.#stream = stream;
    this.#writes = new GatheredWrites(stream);
    // A write that fails is told by `write`; without a listener the event would end the process.
    stream.on("error", () => undefined);
    this.bytes = this.#read();
  }

  get hasEnded(): boolean {
    return this.#hasEnded || this.#stream.destroyed;
  }

  get diagnostics(): string {
    return this.#errors.text;
  }

  async write(bytes: Uint8Array, { signal }: CallOptions): Promise<void> {
    if (this.hasEnded) throw new Error("The channel into the box has ended.");
    await this.#writes.write(bytes, signal);
  }

  async close(): Promise<void> {
    this.#hasEnded = true;
    this.#stream.destroy();
    await Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async *#read(): AsyncIterable<Uint8Array> {
    const demuxer = new EngineDemuxer();
    try {
      for await (const piece of this.#stream)
        if (piece instanceof Uint8Array) yield* this.#separate(demuxer.push(piece));
    } finally {
      this.#hasEnded = true;
    }
  }

  *#separate(chunks: readonly EngineChunk[]): Iterable<Uint8Array> {
    for (const { stream, bytes } of chunks)
      if (stream === "stdout") yield bytes;
      else this.#errors.keep(bytes);
  }
}
