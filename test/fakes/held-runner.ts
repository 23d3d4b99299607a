/** A runner whose runs wait until a test lets them go; they are told apart by the text of their message. */
import type { RunContext } from "../../src/domain/run-context.js";
import type { CallOptions } from "../../src/ports/options.js";
import type { RunHost } from "../../src/ports/run-host.js";
import { message, ScriptedRunner } from "./scripted-runner.js";

export class HeldRuns {
  readonly runner = new ScriptedRunner({
    play: (context, host, options) => this.#play(context, host, options),
  });
  /** Texts of the messages whose runs have begun, in order. */
  readonly begun: string[] = [];
  readonly #held = new Map<string, () => void>();

  /** Lets a run go that has begun: it answers and completes. */
  release(text: string): void {
    const go = this.#held.get(text);
    if (go === undefined) throw new Error(`No run for "${text}" has begun.`);
    this.#held.delete(text);
    go();
  }

  async *#play(context: RunContext, _host: RunHost, { signal }: CallOptions): AsyncGenerator<unknown, void> {
    const text = context.input.text ?? "";
    this.begun.push(text);
    await new Promise<void>((resolve) => {
      this.#held.set(text, resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    signal.throwIfAborted();
    yield { ...message(`Answer to ${text}`), run_id: context.run_id };
  }
}
