/** Writes to a stream; what is written within one turn of the event loop goes out in one system call. */
import type { Duplex } from "node:stream";
import { waitForDrain } from "./wait-for-drain.js";

export class GatheredWrites {
  readonly #stream: Duplex;
  #isGathering = false;

  constructor(stream: Duplex) {
    this.#stream = stream;
  }

  /** Resolves when the stream wants more. @throws an error when it closes, the abort's reason when the signal aborts */
  async write(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    this.#gather();
    if (!this.#stream.write(bytes)) await waitForDrain(this.#stream, signal);
  }

  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#stream.cork();
    setImmediate(() => {
      this.#isGathering = false;
      this.#stream.uncork();
    });
  }
}
