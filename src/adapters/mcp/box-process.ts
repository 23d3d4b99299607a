/** An MCP server as a process of a box: started by the box user, ended with its tree, gone with the container (stack §9). */
import { WORKSPACE_ROOT } from "../../domain/box.js";
import type { BoxHandle, BoxProcess } from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import type { BytePipe } from "./byte-pipe.js";
import { LastWords } from "./last-words.js";
import type { StdioServer } from "./settings.js";

/** @throws ServiceError `box.forbidden` where the box is not served by the helper, and what the engine fails with */
export async function spawnInBox(
  handle: BoxHandle,
  { command, env }: Pick<StdioServer, "command" | "env">,
  options: CallOptions,
): Promise<BytePipe> {
  const request = { argv: command, workdir: WORKSPACE_ROOT, env, terminal: null };
  return new BoxPipe(await handle.spawn(request, options));
}

class BoxPipe implements BytePipe {
  readonly output: AsyncIterable<Uint8Array>;
  readonly #process: BoxProcess;
  readonly #words = new LastWords();

  constructor(process: BoxProcess) {
    this.#process = process;
    this.output = this.#read();
  }

  async write(bytes: Uint8Array, options: CallOptions): Promise<void> {
    await this.#process.write(bytes, options);
  }

  lastWords(): string {
    return this.#words.line();
  }

  async *#read(): AsyncGenerator<Uint8Array, void> {
    for await (const event of this.#process.events) {
      if (event.type === "exit") return;
      if (event.stream === "stdout") yield event.bytes;
      else this.#words.add(event.bytes);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }
}
