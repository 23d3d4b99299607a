/** A command without a time limit, as the port shows it: a thin face of what the helper runs. */
import type { BoxProcess, ExecEvent, TerminalSize } from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import type { BoxdCommand } from "./boxd-command.js";

export interface BoxdProcessDeps {
  readonly command: BoxdCommand;
  readonly events: AsyncIterable<ExecEvent>;
  /** Ends the tree and waits until nothing of it is left. */
  readonly end: () => Promise<void>;
}

export class BoxdProcess implements BoxProcess {
  readonly events: AsyncIterable<ExecEvent>;
  readonly #deps: BoxdProcessDeps;

  constructor(deps: BoxdProcessDeps) {
    this.#deps = deps;
    this.events = deps.events;
  }

  async write(bytes: Uint8Array, options: CallOptions): Promise<void> {
    await this.#deps.command.input.write(bytes, options);
  }

  async endInput(options: CallOptions): Promise<void> {
    await this.#deps.command.input.end(options);
  }

  resize(size: TerminalSize): void {
    this.#deps.command.resize(size);
  }

  terminate(): void {
    this.#deps.command.terminate();
  }

  kill(): void {
    this.#deps.command.stop("cancelled");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#deps.end();
  }
}
