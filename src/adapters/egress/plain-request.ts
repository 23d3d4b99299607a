/** Plain HTTP through the broker: a request is read whole in its head, made anew, and sent on a connection of its own. */
import {
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
  type ServerResponse,
} from "node:http";
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
import { type HostSecrets, maskBody, maskHeaders } from "./secret-headers.js";

export interface PlainRequest {
  readonly stream: RelayStream;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly record: PassageRecord;
}

const HTTP_PORT = 80;
/** Of one hop only; whatever `Connection` names is too. */
const HOP_HEADERS = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** With these a host that echoes its request would give a secret away in parts or in another form. */
const REVEALING_HEADERS = new Set(["accept-encoding", "range", "if-range", "max-forwards"]);

export async function servePlain(
  deps: PassageDeps,
  plain: PlainRequest,
  options: CallOptions,
): Promise<void> {
  const { stream, request, record } = plain;
  const parsed = readRequest(request);
  record.target = parsed?.target ?? null;
  if (parsed === null) return refuse(plain, MALFORMED);
  if (stream.budget.isSpent) return refuse(plain, SPENT);
  const route = await findRoute(deps, parsed.target, options);
  if (route.type === "refused") return refuse(plain, route.refusal);
  const secrets = deps.secrets.of(parsed.target);
  const asked = { ...parsed, addresses: route.addresses, secrets };
  const answer = await send(asked, request, options);
  if (answer === null || (secrets !== null && isEncoded(answer))) {
    answer?.destroy();
    return refuse(plain, UNREACHABLE);
  }
  await giveBack(plain, answer, secrets);
  record.tell(null);
}

interface ParsedRequest {
  readonly target: EgressTarget;
  /** Host as the request spells it. */
  readonly authority: string;
  readonly path: string;
}

interface CheckedRequest extends ParsedRequest {
  readonly addresses: readonly string[];
  readonly secrets: HostSecrets | null;
}

/** @returns null for a request that a proxy must not understand in its own way */
function readRequest(request: IncomingMessage): ParsedRequest | null {
  const { url = "", method, rawHeaders } = request;
  const [, authority = "", rest = ""] = /^http:\/\/([^/?#]*)([/?][^#]*)?$/iu.exec(url) ?? [];
  const target = readEgressTarget(authority, HTTP_PORT);
  if (target === null || method === "TRACE") return null;
  if (hasOtherHost(rawHeaders, target) || hasOddFraming(request)) return null;
  return { target, authority, path: rest.startsWith("/") ? rest : `/${rest}` };
}

/** Whether it names more than its target. */
function hasOtherHost(rawHeaders: readonly string[], target: EgressTarget): boolean {
  const hosts = valuesOf(rawHeaders, "host").map((host) => readEgressTarget(host, HTTP_PORT));
  return hosts.length > 1 || hosts.some((named) => named?.host !== target.host || named.port !== target.port);
}

/** Node takes more than one reading of where a body ends for valid. */
function hasOddFraming({ rawHeaders, headers }: IncomingMessage): boolean {
  const encodings = valuesOf(rawHeaders, "transfer-encoding");
  if (encodings.length === 0) return false;
  return encodings.length > 1 || encodings[0]?.toLowerCase() !== "chunked" || "content-length" in headers;
}

function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}

/** @returns null when the host does not answer */
async function send(
  { target, authority, path, addresses, secrets }: CheckedRequest,
  request: IncomingMessage,
  { signal }: CallOptions,
): Promise<IncomingMessage | null> {
  const headers = { ...headersFor(request, secrets), host: authority, connection: "close" };
  return new Promise((resolve) => {
    const fail = (): void => {
      clearTimeout(timer);
      upstream?.destroy();
      resolve(null);
    };
    const timer = setTimeout(fail, CONNECT_MS);
    const upstream = tryRequest({
      host: target.host,
      port: target.port,
      path,
      method: request.method,
      headers,
      agent: false,
      setHost: false,
      lookup: answerWith(addresses),
      signal,
    });
    if (upstream === null) return fail();
    upstream.on("error", fail);
    upstream.once("socket", (socket) => socket.once("connect", () => clearTimeout(timer)));
    upstream.once("response", resolve);
    // A body that breaks off takes the request with it.
    pipeline(request, upstream).catch(fail);
  });
}

function headersFor(request: IncomingMessage, secrets: HostSecrets | null): OutgoingHttpHeaders {
  const framing =
    request.headers["transfer-encoding"] === undefined ? {} : { "transfer-encoding": "chunked" };
  if (secrets === null) return { ...passOn(request, new Set()), ...framing };
  const left = new Set([...REVEALING_HEADERS, ...secrets.headers.keys()]);
  const added = Object.fromEntries(secrets.headers);
  return { ...passOn(request, left), ...framing, "accept-encoding": "identity", ...added };
}

/** Node refuses paths and headers that it would not send. */
function tryRequest(options: RequestOptions): ReturnType<typeof httpRequest> | null {
  try {
    return httpRequest(options);
  } catch {
    return null;
  }
}

async function giveBack(
  { response, stream }: PlainRequest,
  answer: IncomingMessage,
  secrets: HostSecrets | null,
): Promise<void> {
  const left = secrets === null ? new Set<string>() : new Set(["content-length"]);
  const headers = passOn(answer, left);
  const masked = secrets === null ? headers : maskHeaders(secrets.mask, headers);
  try {
    response.writeHead(answer.statusCode ?? UNREACHABLE.status, masked);
    if (secrets === null) await pipeline(answer, response);
    else await pipeline(answer, maskBody(secrets.mask), response);
  } catch {
    stream.destroy();
  }
}

/** Headers for the next hop, by lower-case name. */
function passOn(message: IncomingMessage, left: ReadonlySet<string>): Record<string, string[]> {
  const connection = valuesOf(message.rawHeaders, "connection");
  const named = new Set(
    connection.flatMap((value) => value.split(",").map((name) => name.trim().toLowerCase())),
  );
  const passed = new Map<string, string[]>();
  for (let index = 0; index + 1 < message.rawHeaders.length; index += 2) {
    const name = (message.rawHeaders[index] ?? "").toLowerCase();
    if (HOP_HEADERS.has(name) || named.has(name) || left.has(name) || name === "host") continue;
    passed.set(name, [...(passed.get(name) ?? []), message.rawHeaders[index + 1] ?? ""]);
  }
  return Object.fromEntries(passed);
}

function isEncoded({ headers }: IncomingMessage): boolean {
  return (headers["content-encoding"] ?? "identity").trim().toLowerCase() !== "identity";
}

function refuse({ request, response, record }: PlainRequest, refusal: Refusal): void {
  record.tell(refusal);
  request.resume();
  response.writeHead(refusal.status, { "content-type": "text/plain", connection: "close" });
  response.end(`${refusal.text}\n`);
}
