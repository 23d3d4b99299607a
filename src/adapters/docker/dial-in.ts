/**
 * Listens on a unix socket until the one helper that was told the token has dialled in, and no longer: while a box works
 * there is nothing that its processes could connect to. Whoever comes without the token is dropped.
 */
import { timingSafeEqual } from "node:crypto";
import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { abortReason } from "../../lib/abort-reason.js";

/** Callers that have not shown a token yet; more are dropped at once. */
const MAX_CALLERS = 4;
/** The box user is not the owner of the socket; nobody but the box can reach its directory. */
const SOCKET_MODE = 0o666;
/** What may wait in this process for the far end, and the other way round. */
const BUFFER_BYTES = 256 * 1024;

export class DialIn implements AsyncDisposable {
  readonly #server: Server;
  readonly #path: string;
  readonly #token: Buffer;
  readonly #callers = new Set<Socket>();
  #found: Socket | null = null;
  #wake: () => void = () => undefined;

  private constructor(path: string, token: string) {
    this.#path = path;
    this.#token = Buffer.from(token);
    this.#server = createServer({ highWaterMark: BUFFER_BYTES }, (socket) => this.#admit(socket));
    this.#server.maxConnections = MAX_CALLERS;
  }

  /** @param path where the socket is made; what a dead service left there is removed. @throws what the system says */
  static async listen(path: string, token: string): Promise<DialIn> {
    await rm(path, { force: true });
    return new DialIn(path, token).#listen();
  }

  async #listen(): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ path: this.#path, backlog: MAX_CALLERS }, resolve);
    });
    await chmod(this.#path, SOCKET_MODE);
    return this;
  }

  /** The helper's connection, from after the token on; it belongs to the caller. @throws the signal's reason */
  async accept({ signal }: { readonly signal: AbortSignal }): Promise<Socket> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => reject(abortReason(signal));
      signal.addEventListener("abort", stop, { once: true });
      this.#wake = (): void => {
        signal.removeEventListener("abort", stop);
        resolve();
      };
      if (this.#found !== null) this.#wake();
    });
    const socket = this.#found;
    if (socket === null) throw new Error("Nobody has dialled in.");
    this.#callers.delete(socket);
    return socket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#callers) socket.destroy();
    await rm(this.#path, { force: true });
  }

  #admit(socket: Socket): void {
    this.#callers.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => this.#callers.delete(socket));
    const look = (): void => {
      const given: unknown = socket.read(this.#token.length);
      if (!(given instanceof Uint8Array)) return;
      socket.off("readable", look);
      if (
        this.#found === null &&
        given.length === this.#token.length &&
        timingSafeEqual(given, this.#token)
      ) {
        this.#found = socket;
        this.#wake();
      } else socket.destroy();
    };
    socket.on("readable", look);
  }
}
