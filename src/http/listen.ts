/** The listening socket: time and size limits of raw HTTP, and an end that leaves nobody hanging (security §10, stack §3). */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { ServiceError } from "../domain/errors.js";
import { endsWithin } from "../lib/delay.js";
import type { IdSource } from "../ports/id-source.js";
import type { OpenStreams } from "./open-streams.js";
import { toErrorBody } from "./report-error.js";
import type { Upgrades } from "./upgrades.js";

export interface ListenOptions {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  readonly streams: OpenStreams;
  /** Absent = nobody may ask for another protocol. */
  readonly upgrades?: Upgrades | undefined;
  readonly ids: IdSource;
  /** Time for all headers of a request; shorter in tests. */
  readonly headersTimeMs?: number;
}

export interface HttpListener {
  readonly port: number;
  /** As a client on this machine reaches it. */
  readonly url: string;
  /**
   * Takes no new connections, ends the event streams, gives open requests `graceMs` to end, then cuts them.
   * Closing twice is harmless.
   */
  close(graceMs: number): Promise<void>;
}

const HEADERS_TIME_MS = 10_000;
/** Uploads take their time; JSON bodies have a shorter limit of their own. */
const REQUEST_TIME_MS = 600_000;
/** Node looks for late requests every 30 s by itself, which would triple the time for headers. */
const LATE_LOOK_MS = 1000;
/** Longer than the idle time of usual proxies, so that the proxy closes first. */
const KEEP_ALIVE_MS = 75_000;
const MAX_HEADER_BYTES = 16_384;
const MAX_CONNECTIONS = 5000;
const MAX_REQUESTS_PER_SOCKET = 10_000;
/** Addresses that stand for all of a machine are none that a client can rely on. */
const REACHED_AS: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);
/** Milliseconds between two looks for idle connections while the listener closes. */
const IDLE_LOOK_MS = 20;

/** @throws ServiceError `service.not_ready` when the address cannot be had */
export async function listen(app: RequestListener, options: ListenOptions): Promise<HttpListener> {
  const server = createServer(
    {
      headersTimeout: options.headersTimeMs ?? HEADERS_TIME_MS,
      requestTimeout: REQUEST_TIME_MS,
      connectionsCheckingInterval: LATE_LOOK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // The app refuses it itself, with the envelope.
      requireHostHeader: false,
    },
    app,
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET;
  options.upgrades?.attach(server, app);
  server.on("clientError", (error, socket) => refuseRaw(error, socket, options.ids));
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error): void => reject(cannotListen(options, error));
    server.once("error", fail);
    server.listen(options.port, options.host, () => {
      server.off("error", fail);
      resolve();
    });
  });
  const port = portOf(server.address());
  return {
    port,
    url: `http://${authority({ host: REACHED_AS.get(options.host) ?? options.host, port })}`,
    close: (graceMs) => close(server, options.streams, graceMs),
  };
}

function authority({ host, port }: Pick<ListenOptions, "host" | "port">): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function cannotListen(options: ListenOptions, cause: Error): ServiceError {
  const message = `${authority(options)} cannot be listened on (${codeOf(cause)}).`;
  return new ServiceError("service.not_ready", message, {
    hint: "Stop what uses the port, or choose another address by server.host, server.port or BERTH_PORT.",
    cause,
  });
}

async function close(server: Server, streams: OpenStreams, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  streams.endAll();
  // A connection becomes idle only when its answer is complete, and nobody tells: look again and again.
  for (let waitedMs = 0; waitedMs <= graceMs; waitedMs += IDLE_LOOK_MS) {
    server.closeIdleConnections();
    if (await endsWithin(closed, IDLE_LOOK_MS)) return;
  }
  server.closeAllConnections();
  await closed;
}

const RAW_FAULTS: Readonly<Record<string, { readonly line: string; readonly message: string }>> = {
  HPE_HEADER_OVERFLOW: {
    line: "431 Request Header Fields Too Large",
    message: `The headers may have ${MAX_HEADER_BYTES} bytes; more came.`,
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    line: "408 Request Timeout",
    message: "The request did not arrive in time.",
  },
};

/** What Node's parser refuses gets the envelope, too. */
function refuseRaw(error: Error, socket: Duplex, ids: IdSource): void {
  if (!socket.writable || socket.destroyed) {
    socket.destroy();
    return;
  }
  const { line, message } = RAW_FAULTS[codeOf(error)] ?? {
    line: "400 Bad Request",
    message: "The request is not valid HTTP.",
  };
  const requestId = ids.create("req");
  const body = JSON.stringify(toErrorBody(new ServiceError("request.invalid", message), requestId));
  const head = [
    `HTTP/1.1 ${line}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === "object" && address !== null ? address.port : 0;
}
