/** Stands where a box's relay stands: programs of the test connect to a port, and what they say comes to a broker. */
import { EventEmitter, once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { BoxEgress, EgressBroker, RelayedConnection } from "../../src/ports/egress-broker.js";
import type { CallOptions } from "../../src/ports/options.js";

export class RelayedSockets implements AsyncDisposable {
  readonly #server: Server;
  readonly #egress: BoxEgress;
  readonly sockets = new Set<Socket>();

  constructor(broker: EgressBroker, sessionId: `ses_${string}` = "ses_a") {
    this.#egress = broker.serve({ sessionId });
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
      this.sockets.add(socket);
      socket.once("close", () => this.sockets.delete(socket));
      this.#egress.accept(new SocketConnection(socket));
    });
  }

  /** @returns the port of the proxy */
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** The helper is lost. */
  drop(): void {
    this.#egress[Symbol.dispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}

class SocketConnection implements RelayedConnection {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly closed: Promise<void>;
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.bytes = read(socket);
    this.closed = new Promise((resolve) => {
      socket.once("close", () => resolve());
    });
    socket.on("error", () => undefined);
  }

  async write(bytes: Uint8Array, _options: CallOptions): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  async end(_options: CallOptions): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#socket.end(resolve);
    });
  }

  reset(): void {
    if (!this.#socket.destroyed) this.#socket.resetAndDestroy();
  }
}

async function* read(socket: Socket): AsyncIterable<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const state = { isOver: false };
  const changes = new EventEmitter();
  const end = (): void => {
    state.isOver = true;
    changes.emit("change");
  };
  socket.once("end", end);
  socket.once("close", end);
  socket.on("data", (bytes: Uint8Array) => {
    socket.pause();
    pieces.push(bytes);
    changes.emit("change");
  });
  for (;;) {
    const piece = pieces.shift();
    if (piece !== undefined) yield piece;
    else if (state.isOver) return;
    else {
      const change = once(changes, "change");
      socket.resume();
      await change;
    }
  }
}
