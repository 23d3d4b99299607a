/** One connection to a terminal: bytes in both directions as fast as each side takes them, and an end that both hear of (box §14.4). */
import type { RawData, WebSocket } from "ws";
import { z } from "zod";
import type { Terminal } from "../box/terminals.js";
import { abortReason } from "../lib/abort-reason.js";
import { linkSignals } from "../lib/link-signals.js";
import { terminalMessageSchema } from "./schemas/job-bodies.js";

export interface TerminalConnectionDeps {
  readonly webSocket: WebSocket;
  readonly terminal: Terminal;
  /** Aborts when the service stops. */
  readonly stopping: AbortSignal;
  /** Milliseconds between signs of life; a client that gives none for two of them is gone. */
  readonly heartbeatMs: number;
}

const CLOSE = { normal: 1000, stopping: 1001, invalid: 1007, replaced: 4000 } as const;
const PIECE_BYTES = 16 * 1024;
/** Answers to pings are given while no more than this waits for the client. */
const MAX_WAITING_BYTES = 64 * 1024;
/** What a client that does not close its side is waited for. */
const CLOSE_MS = 1000;

export class TerminalConnection {
  readonly #deps: TerminalConnectionDeps;
  readonly #gone = new AbortController();
  /** Input that is on its way, in order. */
  #incoming: Promise<void> = Promise.resolve();
  #waiting = 0;
  #isAlive = true;

  constructor(deps: TerminalConnectionDeps) {
    this.#deps = deps;
  }

  /** Resolves when the connection is closed. Never rejects. */
  async serve(): Promise<void> {
    const { webSocket, terminal, stopping, heartbeatMs } = this.#deps;
    const closed = this.#listen();
    const heartbeat = setInterval(() => this.#beat(), heartbeatMs);
    using linked = linkSignals(stopping, this.#gone.signal);
    using follower = terminal.process.follow(terminal.process.output.start);
    try {
      await this.#send(JSON.stringify({ type: "terminal", id: terminal.id }));
      for (let read = await follower.read(PIECE_BYTES, linked); read !== null; ) {
        for (const { bytes } of read.parts) await this.#send(bytes);
        read = await follower.read(PIECE_BYTES, linked);
      }
      await this.#tellEnd();
    } catch (error) {
      if (stopping.aborted) webSocket.close(CLOSE.stopping, abortReason(stopping).message);
      else if (!this.#gone.signal.aborted) webSocket.close(1011, error instanceof Error ? error.name : "");
    }
    const overdue = setTimeout(() => webSocket.terminate(), CLOSE_MS);
    await closed;
    clearTimeout(overdue);
    clearInterval(heartbeat);
  }

  /** @returns when the connection is closed */
  async #listen(): Promise<void> {
    const { webSocket } = this.#deps;
    webSocket.on("message", (data, isBinary) => this.#take(data, isBinary));
    webSocket.on("pong", () => {
      this.#isAlive = true;
    });
    webSocket.on("ping", (data) => {
      if (webSocket.bufferedAmount < MAX_WAITING_BYTES) webSocket.pong(data);
    });
    // What breaks the protocol is closed by the library, with the code for it.
    webSocket.on("error", () => this.#gone.abort());
    await new Promise<void>((resolve) => {
      webSocket.once("close", () => {
        this.#gone.abort();
        resolve();
      });
    });
  }

  /** While input waits for the process nothing more is read from the client. */
  #take(data: RawData, isBinary: boolean): void {
    const { webSocket } = this.#deps;
    this.#isAlive = true;
    this.#waiting += 1;
    webSocket.pause();
    const before = this.#incoming;
    this.#incoming = this.#passAfter(before, data, isBinary);
  }

  /** Never rejects: a process that has ended is told of by its exit. */
  async #passAfter(before: Promise<void>, data: RawData, isBinary: boolean): Promise<void> {
    await before;
    await this.#pass(data, isBinary).catch(() => undefined);
    this.#waiting -= 1;
    if (this.#waiting === 0) this.#deps.webSocket.resume();
  }

  async #pass(data: RawData, isBinary: boolean): Promise<void> {
    const { process } = this.#deps.terminal;
    if (this.#gone.signal.aborted || !Buffer.isBuffer(data)) return;
    if (isBinary) {
      if (data.length > 0) await process.write(data, this.#gone);
      return;
    }
    const message = readMessage(data.toString("utf8"));
    if (message !== null) process.resize(message);
    else
      this.#deps.webSocket.close(CLOSE.invalid, 'A text frame must be {"type":"resize","rows","columns"}.');
  }

  async #tellEnd(): Promise<void> {
    const { webSocket, terminal } = this.#deps;
    const { exit } = terminal.process;
    if (exit === null) {
      webSocket.close(CLOSE.replaced, "Another connection uses the terminal.");
      return;
    }
    await this.#send(JSON.stringify({ type: "exit", exit_code: exit.exitCode, notes: exit.notes }));
    webSocket.close(CLOSE.normal);
  }

  /** Resolves when the client can take more. */
  async #send(data: string | Uint8Array): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#deps.webSocket.send(data, (error) => {
        if (error instanceof Error) reject(error);
        else resolve();
      });
    });
  }

  /** A client that is held up by us cannot answer. */
  #beat(): void {
    const { webSocket } = this.#deps;
    if (!this.#isAlive && this.#waiting === 0) {
      webSocket.terminate();
      return;
    }
    this.#isAlive = false;
    if (webSocket.bufferedAmount < MAX_WAITING_BYTES) webSocket.ping();
  }
}

function readMessage(text: string): z.infer<typeof terminalMessageSchema> | null {
  const parsed = z
    .string()
    .transform((value, issues): unknown => {
      try {
        return JSON.parse(value);
      } catch {
        issues.addIssue({ code: "custom", message: "no JSON" });
        return z.NEVER;
      }
    })
    .pipe(terminalMessageSchema)
    .safeParse(text);
  return parsed.success ? parsed.data : null;
}
