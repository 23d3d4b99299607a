/** The SDK's transport over a pipe: one JSON message a line, read with a bound, lines that are none passed over. */
import { deserializeMessage, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { Breather } from "../../lib/breather.js";
import { JsonCost } from "../../lib/json-cost.js";
import { KeyedLock } from "../../lib/keyed-lock.js";
import { LineCutter } from "../../lib/line-cutter.js";
import type { BytePipe } from "./byte-pipe.js";
import { MAX_MESSAGE_BYTES, MESSAGE_LIMITS } from "./limits.js";

export class PipeTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly #pipe: BytePipe;
  readonly #lines = new LineCutter(MAX_MESSAGE_BYTES);
  readonly #cost = new JsonCost(MESSAGE_LIMITS);
  readonly #breather = new Breather();
  readonly #turns = new KeyedLock<"write">();
  readonly #life = new AbortController();
  #reading: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  constructor(pipe: BytePipe) {
    this.#pipe = pipe;
  }

  async start(): Promise<void> {
    this.#reading = this.#read();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { signal } = this.#life;
    using _turn = await this.#turns.acquire("write", { signal });
    await this.#pipe.write(Buffer.from(serializeMessage(message)), { signal });
  }

  /** Resolves when nothing of the program is left. */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    this.#life.abort(new Error("The connection was closed."));
    try {
      await this.#pipe[Symbol.asyncDispose]();
      await this.#reading;
    } finally {
      this.onclose?.();
    }
  }

  async #read(): Promise<void> {
    try {
      for await (const bytes of this.#pipe.output) {
        for (const line of this.#lines.push(bytes)) {
          await this.#breather.breathe();
          this.#deliver(line);
        }
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
    if (!this.#life.signal.aborted) void this.#end();
  }

  /** The program has ended, or said more than is taken. */
  async #end(): Promise<void> {
    try {
      await this.close();
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** @throws RangeError for a line that costs too much to read */
  #deliver(line: Buffer): void {
    if (line[0] !== OPENING_BRACE) return;
    this.#cost.reset();
    this.#cost.addAll(line);
    const message = readMessage(line);
    if (message !== null) this.onmessage?.(message);
  }
}

const OPENING_BRACE = 0x7b;

/** @returns null for a line that is no message: programs print such things. The next line stands for itself */
function readMessage(line: Buffer): JSONRPCMessage | null {
  try {
    return deserializeMessage(line.toString("utf8"));
  } catch {
    return null;
  }
}

/** The way to a program of the host. */
export function overPipe(pipe: BytePipe): {
  readonly transport: Transport;
  readonly lastWords: () => string;
} {
  return { transport: new PipeTransport(pipe), lastWords: () => pipe.lastWords() };
}
