/**
 * Requests that ask for another protocol. Those for a terminal go through the app like every request, so that the same
 * checks refuse them with the same answers; the route then takes the socket. All others are answered as if they had not
 * asked, as RFC 9110 §7.8 allows: clients ask for h2c unasked.
 */
import { type IncomingMessage, type RequestListener, type Server, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";

/** Largest frame that a client may send, in bytes. */
const MAX_FRAME_BYTES = 64 * 1024;
const TERMINAL_PATH = /^\/v1\/sessions\/[^/?]+\/terminal(?:\?|$)/;
const KEY = /^[+/0-9A-Za-z]{22}==$/;

interface Asked {
  readonly socket: Socket;
  readonly head: Buffer;
  readonly response: ServerResponse;
}

export class Upgrades {
  readonly #asked = new WeakMap<IncomingMessage, Asked>();
  readonly #protocol = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
    // A client that sends pings and reads nothing would make the answers pile up.
    autoPong: false,
  });

  attach(server: Server, app: RequestListener): void {
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on("error", () => socket.destroy());
      if (!(socket instanceof Socket)) socket.destroy();
      else if (isTerminal(request)) app(request, this.#ask(request, { socket, head }));
      else answerPlainly(server, request, { socket, head });
    });
  }

  /** Whether the request asked for a WebSocket in a way that can be granted. */
  isAsked(request: IncomingMessage): boolean {
    const { "sec-websocket-key": key, "sec-websocket-version": version } = request.headers;
    return this.#asked.has(request) && version === "13" && KEY.test(key ?? "");
  }

  /** Grants it, once. @returns null when the client is gone, or its request was not valid after all */
  async accept(request: IncomingMessage): Promise<WebSocket | null> {
    const asked = this.#asked.get(request);
    if (asked === undefined || asked.socket.destroyed) return null;
    this.#asked.delete(request);
    const { socket, head, response } = asked;
    response.detachSocket(socket);
    response.statusCode = 101;
    return new Promise((resolve) => {
      socket.once("close", () => resolve(null));
      this.#protocol.handleUpgrade(request, socket, head, (webSocket) => resolve(webSocket));
    });
  }

  #ask(request: IncomingMessage, { socket, head }: Pick<Asked, "socket" | "head">): ServerResponse {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once("finish", () => {
      response.detachSocket(socket);
      socket.end();
      response.emit("close");
    });
    socket.once("close", () => response.emit("close"));
    this.#asked.set(request, { socket, head, response });
    return response;
  }
}

function isTerminal({ method, url = "", headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket" && TERMINAL_PATH.test(url);
}

/** Reads the request once more, without the wish; its connection ends with the answer. */
function answerPlainly(
  server: Server,
  request: IncomingMessage,
  { socket, head }: Pick<Asked, "socket" | "head">,
): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  for (let i = 0; i + 1 < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i] ?? "";
    if (!/^(?:upgrade|connection|http2-settings)$/i.test(name))
      lines.push(`${name}: ${request.rawHeaders[i + 1]}`);
  }
  const plain = Buffer.from(`${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n`, "latin1");
  socket.unshift(Buffer.concat([plain, head]));
  server.emit("connection", socket);
}
