/** A way to the engine that a test can cut and mend. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { ENGINE_SOCKET } from "./engine.js";

export class EngineProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;

  constructor() {
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#join(client));
  }

  /** As `boxes.engines` takes it. */
  get address(): string {
    return `tcp://127.0.0.1:${this.#port}`;
  }

  /** Opens the way, each time on the same port. */
  async mend(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(this.#port, "127.0.0.1", resolve);
    });
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The proxy does not listen.");
    this.#port = address.port;
    return this;
  }

  /** Breaks every connection and refuses new ones. */
  async cut(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cut();
  }

  #join(client: Socket): void {
    const engine = connect({ path: ENGINE_SOCKET, allowHalfOpen: true });
    for (const [socket, other] of [
      [client, engine],
      [engine, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
