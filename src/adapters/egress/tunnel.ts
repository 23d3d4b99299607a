/** CONNECT: bytes both ways between a program in a box and the host it named, which was checked first. */
import { connect, isIP, type Socket } from "node:net";
import { type Duplex, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type EgressTarget, readEgressTarget } from "../../domain/egress-rules.js";
import type { CallOptions } from "../../ports/options.js";
import {
  CONNECT_MS,
  findRoute,
  MALFORMED,
  type PassageDeps,
  type PassageRecord,
  type Refusal,
  SPENT,
  UNREACHABLE,
} from "./passages.js";
import type { RelayStream } from "./relay-stream.js";
import { answerWith } from "./resolve-target.js";
import { readServerName } from "./server-name.js";

export interface TunnelRequest {
  readonly stream: RelayStream;
  /** As it came: `host:port`. */
  readonly authority: string;
  /** Every Host header. */
  readonly hosts: readonly string[];
  /** What came after the request already. */
  readonly head: Buffer;
  readonly record: PassageRecord;
}

const REASONS: Readonly<Record<Refusal["status"], string>> = {
  400: "Bad Request",
  403: "Forbidden",
  429: "Too Many Requests",
  502: "Bad Gateway",
};
const NOT_SAME_NAME: Refusal = {
  word: "name",
  status: 403,
  text: "The TLS server name is not the host of the tunnel.",
};

export async function serveTunnel(
  deps: PassageDeps,
  request: TunnelRequest,
  options: CallOptions,
): Promise<void> {
  const { stream, authority, hosts, record } = request;
  const target = readEgressTarget(authority, null);
  record.target = target;
  if (target === null || !hosts.every((host) => isSame(host, target))) return refuse(request, MALFORMED);
  if (stream.budget.isSpent) return refuse(request, SPENT);
  const route = await findRoute(deps, target, options);
  if (route.type === "refused") return refuse(request, route.refusal);
  const upstream = await open(target, route.addresses, options);
  if (upstream === null) return refuse(request, UNREACHABLE);
  stream.write("HTTP/1.1 200 Connection Established\r\n\r\n");
  if (request.head.length > 0) stream.unshift(request.head);
  record.tell(await carry(stream, upstream, target));
}

/** @returns why it was cut off by us; null for every other end */
async function carry(stream: Duplex, upstream: Socket, target: EgressTarget): Promise<Refusal | null> {
  let refusal: Refusal | null = null;
  const check = checkServerName(target, () => {
    refusal = NOT_SAME_NAME;
  });
  const ways = [pipeline(stream, check, upstream), pipeline(upstream, stream)];
  const breakOff = (): void => {
    stream.destroy();
    upstream.destroy();
  };
  stream.once("close", () => upstream.destroy());
  await Promise.all(ways.map(async (way) => way.catch(breakOff)));
  upstream.destroy();
  return refusal;
}

/** A tunnel to a name carries TLS for that name only, where it is TLS and says a name. */
function checkServerName(target: EgressTarget, onOther: () => void): Transform {
  let held: Buffer | null = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (held === null) return done(null, chunk);
      const seen = Buffer.concat([held, chunk]);
      const found = readServerName(seen);
      held = found.type === "undecided" ? seen : null;
      if (found.type === "undecided") return done();
      if (found.type === "name" && isIP(target.host) === 0 && found.name !== target.host) {
        onOther();
        return done(new Error("Another server name."));
      }
      return done(null, seen);
    },
    flush(done) {
      done(null, held);
    },
  });
}

async function open(
  { host, port }: EgressTarget,
  addresses: readonly string[],
  { signal }: CallOptions,
): Promise<Socket | null> {
  const socket = connect({
    host,
    port,
    lookup: answerWith(addresses),
    allowHalfOpen: true,
    noDelay: true,
    signal,
  });
  return new Promise((resolve) => {
    const fail = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(null);
    };
    const timer = setTimeout(fail, CONNECT_MS);
    // Stays: a socket that fails later ends its tunnel, not the service.
    socket.on("error", fail);
    socket.once("connect", () => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}

function refuse({ stream, record }: TunnelRequest, refusal: Refusal): void {
  const body = `${refusal.text}\n`;
  record.tell(refusal);
  stream.resume();
  stream.end(
    `HTTP/1.1 ${refusal.status} ${REASONS[refusal.status]}\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function isSame(text: string, target: EgressTarget): boolean {
  const named = readEgressTarget(text, target.port);
  return named !== null && named.host === target.host && named.port === target.port;
}
