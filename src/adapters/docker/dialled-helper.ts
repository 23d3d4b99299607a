/** The exec of a helper that dials out: what it writes is kept for the log, its end before it has dialled is told. */
import type { Duplex } from "node:stream";
import { EngineDemuxer } from "./engine-demuxer.js";
import { ExecDiagnostics } from "./exec-diagnostics.js";

export class DialledHelper implements Disposable {
  readonly #stream: Duplex;
  readonly #notes = new ExecDiagnostics();
  readonly #demuxer = new EngineDemuxer();
  readonly #end = new AbortController();

  /** @param stream the exec's connection, with the engine's framing on what comes */
  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on("error", () => undefined);
    stream.on("data", (piece: unknown) => this.#keep(piece));
    stream.on("close", () =>
      this.#end.abort(new Error(`The helper ended: ${JSON.stringify(this.diagnostics)}.`)),
    );
    stream.on("end", () => stream.destroy());
  }

  get diagnostics(): string {
    return this.#notes.text;
  }

  /** Aborts when the helper has ended. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  [Symbol.dispose](): void {
    this.#stream.destroy();
  }

  #keep(piece: unknown): void {
    if (!(piece instanceof Uint8Array)) return;
    try {
      for (const { bytes } of this.#demuxer.push(piece)) this.#notes.keep(bytes);
    } catch {
      // An engine that frames its output wrongly has nothing more to tell.
      this.#stream.destroy();
    }
  }
}
