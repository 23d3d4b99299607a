/** An engine made of canned answers, on a socket of its own. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface EngineCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

/** Null = never answers. */
export type Answer = { readonly status: number; readonly body?: unknown } | null;

export class EngineServer implements AsyncDisposable {
  readonly calls: EngineCall[] = [];
  readonly socketPath: string;
  readonly #directory: string;
  readonly #server: Server;

  private constructor(directory: string, answer: (call: EngineCall) => Answer) {
    this.#directory = directory;
    this.socketPath = join(directory, "engine.sock");
    this.#server = createServer((request, response) => {
      void readCall(request).then((call) => {
        this.calls.push(call);
        const given = answer(call);
        if (given === null) return call;
        response.writeHead(given.status, { "content-type": "application/json" });
        response.end(given.body === undefined ? "" : JSON.stringify(given.body));
        return call;
      });
    });
  }

  static async listen(answer: (call: EngineCall) => Answer): Promise<EngineServer> {
    return new EngineServer(await mkdtemp(join(tmpdir(), "berth-engine-")), answer).#listen();
  }

  async #listen(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(this.socketPath, resolve);
    });
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
    await rm(this.#directory, { recursive: true });
  }
}

async function readCall(request: IncomingMessage): Promise<EngineCall> {
  const pieces: Buffer[] = [];
  for await (const piece of request) if (piece instanceof Buffer) pieces.push(piece);
  const url = new URL(request.url ?? "/", "http://engine");
  const text = Buffer.concat(pieces).toString("utf8");
  const body: unknown = text === "" ? null : JSON.parse(text);
  return { method: request.method ?? "", path: url.pathname, query: url.searchParams, body };
}
