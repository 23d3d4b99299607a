/** A server on this machine whose answers are whatever bytes a test wants, lies included. */
import { createServer, type Server, type Socket } from "node:net";

/** Writes one answer, head included; it ends the socket itself or leaves it open. */
export type RawAnswer = (socket: Socket) => void;

export class RawFileServer implements AsyncDisposable {
  /** Body bytes handed to the network, by path. */
  readonly sentBytes = new Map<string, number>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #answers: Readonly<Record<string, RawAnswer>>;

  constructor(answers: Readonly<Record<string, RawAnswer>>) {
    this.#answers = answers;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    return this;
  }

  urlOf(path: string): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The server does not listen.");
    return `http://127.0.0.1:${address.port}${path}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("data", (head) => {
      const path = decodeURI(/^GET (\S+)/.exec(head.toString("latin1"))?.[1] ?? "");
      socket.once("close", () => {
        this.#sockets.delete(socket);
        this.sentBytes.set(path, socket.bytesWritten);
      });
      const answer = this.#answers[path];
      if (answer === undefined) socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
      else answer(socket);
    });
  }
}

export async function startRawFileServer(
  answers: Readonly<Record<string, RawAnswer>>,
): Promise<RawFileServer> {
  return new RawFileServer(answers).listen();
}

/** These bytes, with any headers. */
export function answerWith(body: Uint8Array | string, headers: readonly string[] = []): RawAnswer {
  return (socket) => {
    const length = `Content-Length: ${Buffer.byteLength(body)}`;
    socket.write(`${["HTTP/1.1 200 OK", length, ...headers].join("\r\n")}\r\n\r\n`);
    socket.end(body);
  };
}

/** Says one length and sends zeros up to another, for ever where it is infinite. */
export function lieAboutLength(claimed: number | null, sentBytes: number): RawAnswer {
  return (socket) => {
    const length = claimed === null ? [] : [`Content-Length: ${claimed}`];
    socket.write(`${["HTTP/1.1 200 OK", ...length, "Connection: close"].join("\r\n")}\r\n\r\n`);
    const piece = Buffer.alloc(64 * 1024, "x");
    let left = sentBytes;
    const pump = (): void => {
      while (left > 0 && !socket.destroyed) {
        const bytes = piece.subarray(0, Math.min(left, piece.length));
        left -= bytes.length;
        if (!socket.write(bytes)) return void socket.once("drain", pump);
      }
      if (!socket.destroyed) socket.end();
    };
    pump();
  };
}
