/** A process that says what a test tells it to. */
import type { ExecExit } from "../../src/domain/box.js";
import { ServiceError } from "../../src/domain/errors.js";
import type { BoxProcess, ExecEvent, TerminalSize } from "../../src/ports/box-handle.js";
import { exited, printed } from "./fake-box-commands.js";

export class ScriptedProcess implements BoxProcess {
  readonly events: AsyncIterable<ExecEvent>;
  /** What was done to it, in order. */
  readonly did: string[] = [];
  /** Whether TERM ends it. */
  isPolite = true;
  /** Events that nobody has read yet. */
  readonly unread: Array<ExecEvent | Error | null> = [];
  #wake: () => void = () => undefined;
  #hasEnded = false;

  constructor() {
    this.events = this.#read();
  }

  say(text: string, stream: "stdout" | "stderr" = "stdout"): void {
    this.#push(printed(text, stream));
  }

  /** It ends by itself. */
  endWith(exitCode: number, fields: Partial<ExecExit> = {}): void {
    this.#push(exited(exitCode, fields));
  }

  /** What is read of it ends, without an exit or with an error. */
  breakOff(error: Error | null): void {
    this.#push(error);
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#input(`write ${Buffer.from(bytes).toString()}`);
  }

  async endInput(): Promise<void> {
    await this.#input("end");
  }

  resize({ rows, columns }: TerminalSize): void {
    this.did.push(`resize ${rows} ${columns}`);
  }

  terminate(): void {
    this.did.push("terminate");
    if (this.isPolite) this.endWith(0, { status: "killed", exitCode: null, notes: ["By SIGTERM."] });
  }

  kill(): void {
    this.did.push("kill");
    this.endWith(0, { status: "cancelled", exitCode: null, notes: ["It was stopped."] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.did.push("dispose");
    await Promise.resolve();
  }

  #push(event: ExecEvent | Error | null): void {
    this.unread.push(event);
    this.#wake();
  }

  async #input(what: string): Promise<void> {
    await Promise.resolve();
    if (this.#hasEnded) throw new ServiceError("box.process_not_found", "The process has ended.");
    this.did.push(what);
  }

  async *#read(): AsyncIterable<ExecEvent> {
    for (;;) {
      const event = this.unread.shift();
      if (event === undefined)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      else if (event === null) return;
      else if (event instanceof Error) throw event;
      else {
        this.#hasEnded ||= event.type === "exit";
        yield event;
      }
    }
  }
}
