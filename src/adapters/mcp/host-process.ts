/** An MCP server as a process beside the service: of its own group, with an environment of its own, ended as a whole. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { endsWithin } from "../../lib/delay.js";
import type { CallOptions } from "../../ports/options.js";
import type { BytePipe } from "./byte-pipe.js";
import { LastWords } from "./last-words.js";
import type { HostProgram } from "./settings.js";

/** Milliseconds that a server has to end by itself once its input has ended, and again after TERM. */
const GRACE_MS = 1000;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** @throws what the system says when the program cannot be started */
export async function spawnOnHost(
  { command: [program = "", ...args], env }: HostProgram,
  { signal }: CallOptions,
): Promise<BytePipe> {
  signal.throwIfAborted();
  const child = spawn(program, args, {
    env,
    stdio: ["pipe", "pipe", "pipe"],
    cwd: "/",
    // A group of its own, so that its children can be ended with it.
    detached: true,
  });
  const pipe = new HostProcess(child);
  await once(child, "spawn");
  return pipe;
}

class HostProcess implements BytePipe {
  readonly output: AsyncIterable<Uint8Array>;
  readonly #child: Child;
  readonly #closed: Promise<unknown>;
  readonly #words = new LastWords();

  constructor(child: Child) {
    this.#child = child;
    this.output = child.stdout;
    this.#closed = new Promise((resolve) => {
      child.once("close", resolve);
    });
    child.stderr.on("data", (bytes: Buffer) => this.#words.add(bytes));
    // A server that has ended does not read any more; its end is seen at its output.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", ignore);
    child.on("error", ignore);
  }

  async write(bytes: Uint8Array, options: CallOptions): Promise<void> {
    if (!this.#child.stdin.write(bytes)) await once(this.#child.stdin, "drain", options);
  }

  lastWords(): string {
    return this.#words.line();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    this.#child.stdout.resume();
    if (!(await endsWithin(this.#closed, GRACE_MS))) this.#signal("SIGTERM");
    await endsWithin(this.#closed, GRACE_MS);
    // Children that outlived the server are of its group still.
    this.#signal("SIGKILL");
    await endsWithin(this.#closed, GRACE_MS);
  }

  #signal(signal: "SIGTERM" | "SIGKILL"): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      globalThis.process.kill(-pid, signal);
    } catch {
      // Nothing of the group is left.
    }
  }
}

function ignore(): void {
  // Told elsewhere.
}
