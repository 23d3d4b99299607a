/** HTTP requests of any method to services that the operator has named; the connection goes to an address that was checked (security §10). */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import { ServiceError } from "../../domain/errors.js";
import { leaveOnAbort } from "../../lib/leave-on-abort.js";
import type { CallOptions } from "../../ports/options.js";
import type { OutboundHttp, OutboundRequest } from "../../ports/outbound-http.js";
import { answerWith, checkTarget, type Resolve, resolveBySystem } from "./check-target.js";
import { AllowedHosts, readTarget, type Target } from "./url-rules.js";

export interface GuardedHttpDeps {
  /** `host` or `host:port`, exempt from the rule on addresses. */
  readonly allowedPrivateHosts: readonly string[];
  /** The system's resolver if not given. */
  readonly resolve?: Resolve | undefined;
}

/** Statuses whose answers have no body. */
const BODILESS = new Set([204, 205, 304]);

export class GuardedHttp implements OutboundHttp {
  readonly #allowed: AllowedHosts;
  readonly #resolve: Resolve;

  constructor(deps: GuardedHttpDeps) {
    this.#allowed = new AllowedHosts(deps.allowedPrivateHosts);
    this.#resolve = deps.resolve ?? resolveBySystem;
  }

  async request(url: string, request: OutboundRequest, options: CallOptions): Promise<Response> {
    options.signal.throwIfAborted();
    const target = readTarget(url);
    const rules = { allowed: this.#allowed, resolve: this.#resolve };
    const addresses = await leaveOnAbort(checkTarget(target, rules), options);
    try {
      return toResponse(await send({ target, addresses, request }, options));
    } catch (error) {
      options.signal.throwIfAborted();
      throw new ServiceError("outbound.failed", "The connection to the server failed.", { cause: error });
    }
  }
}

interface Sent {
  readonly target: Target;
  readonly addresses: readonly string[];
  readonly request: OutboundRequest;
}

function send({ target, addresses, request }: Sent, { signal }: CallOptions): Promise<IncomingMessage> {
  const { url, host, port } = target;
  const { method, headers, body } = request;
  const options: RequestOptions = {
    host,
    port,
    path: `${url.pathname}${url.search}`,
    method,
    headers: { ...headers, host: url.host, "accept-encoding": "identity" },
    agent: false,
    lookup: answerWith(addresses),
    signal,
  };
  return new Promise((resolve, reject) => {
    const make = url.protocol === "https:" ? httpsRequest : httpRequest;
    make(options, resolve)
      .on("error", reject)
      .end(body ?? undefined);
  });
}

function toResponse(message: IncomingMessage): Response {
  const status = message.statusCode ?? 502;
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers))
    for (const one of Array.isArray(value) ? value : [value ?? ""]) headers.append(name, one);
  // Its failure is told to whoever reads the body.
  message.on("error", () => undefined);
  if (!BODILESS.has(status)) return new Response(Readable.toWeb(message), { status, headers });
  message.resume();
  return new Response(null, { status, headers });
}
