/** A process of a fake box: a scripted command with an input, which ends when it is told to. */
import { ServiceError } from "../../src/domain/errors.js";
import type { BoxProcess, ExecEvent, TerminalSize } from "../../src/ports/box-handle.js";
import type { CallOptions } from "../../src/ports/options.js";

/** At most so many bytes wait for a command that does not read. */
const MAX_WAITING_BYTES = 128 * 1024;

/** Standard input as a fake command reads it. */
export class FakeInput {
  readonly #pieces: Uint8Array[] = [];
  #waitingBytes = 0;
  #isEnded = false;
  #wakes: Array<() => void> = [];

  /** @returns null at the end */
  async next(): Promise<Uint8Array | null> {
    while (this.#pieces.length === 0 && !this.#isEnded) await this.#change();
    const piece = this.#pieces.shift() ?? null;
    this.#waitingBytes -= piece?.length ?? 0;
    this.#wake();
    return piece;
  }

  async push(bytes: Uint8Array, { signal }: CallOptions): Promise<void> {
    signal.throwIfAborted();
    const giveUp = (): void => this.#wake();
    signal.addEventListener("abort", giveUp, { once: true });
    while (
      this.#waitingBytes > 0 &&
      this.#waitingBytes + bytes.length > MAX_WAITING_BYTES &&
      !this.#isEnded
    ) {
      await this.#change();
      signal.throwIfAborted();
    }
    signal.removeEventListener("abort", giveUp);
    if (this.#isEnded) throw hasEnded();
    this.#pieces.push(Uint8Array.from(bytes));
    this.#waitingBytes += bytes.length;
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  async #change(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wakes.push(resolve);
    });
  }

  #wake(): void {
    for (const wake of this.#wakes.splice(0)) wake();
  }
}

export interface FakeProcessDeps {
  readonly events: AsyncIterable<ExecEvent>;
  readonly input: FakeInput;
  readonly resize: (size: TerminalSize) => void;
  /** Aborted to end the command. */
  readonly terminated: AbortController;
  readonly killed: AbortController;
}

export class FakeBoxProcess implements BoxProcess {
  readonly events: AsyncIterable<ExecEvent>;
  readonly #deps: FakeProcessDeps;
  #hasEnded = false;

  constructor(deps: FakeProcessDeps) {
    this.#deps = deps;
    this.events = this.#tell();
  }

  async write(bytes: Uint8Array, options: CallOptions): Promise<void> {
    if (this.#hasEnded) throw hasEnded();
    await this.#deps.input.push(bytes, options);
  }

  async endInput({ signal }: CallOptions): Promise<void> {
    await Promise.resolve();
    signal.throwIfAborted();
    if (this.#hasEnded) throw hasEnded();
    this.#deps.input.end();
  }

  resize(size: TerminalSize): void {
    this.#deps.resize(size);
  }

  terminate(): void {
    this.#deps.terminated.abort();
  }

  kill(): void {
    this.#deps.killed.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    this.#hasEnded = true;
    this.#deps.input.end();
    await Promise.resolve();
  }

  async *#tell(): AsyncGenerator<ExecEvent, void> {
    for await (const event of this.#deps.events) {
      if (event.type === "exit") {
        this.#hasEnded = true;
        this.#deps.input.end();
      }
      yield event;
    }
  }
}

function hasEnded(): ServiceError {
  return new ServiceError("box.process_not_found", "The process has ended and takes no input.");
}
