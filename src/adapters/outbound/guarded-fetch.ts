/** Fetches what strangers name: the connection goes to an address that was checked, hop by hop (security §10). */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { ServiceError } from "../../domain/errors.js";
import { CleanupStack } from "../../lib/cleanup-stack.js";
import type { CallOptions } from "../../ports/options.js";
import type { OutboundFetch, OutboundFile } from "../../ports/outbound-fetch.js";
import { answerWith, checkTarget, type Resolve, resolveBySystem } from "./check-target.js";
import { FetchLife } from "./fetch-life.js";
import { OutboundBody } from "./outbound-body.js";
import { AllowedHosts, readTarget, type Target } from "./url-rules.js";

export interface GuardedFetchDeps {
  /** `host` or `host:port`, exempt from the rule on addresses. */
  readonly allowedPrivateHosts: readonly string[];
  /** The system's resolver if not given. */
  readonly resolve?: Resolve | undefined;
  readonly maxRedirects?: number | undefined;
  /** Longest silence of a server. */
  readonly idleMs?: number | undefined;
}

interface Limits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

const MAX_REDIRECTS = 3;
const IDLE_MS = 10_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export class GuardedFetch implements OutboundFetch {
  readonly #allowed: AllowedHosts;
  readonly #resolve: Resolve;
  readonly #maxRedirects: number;
  readonly #idleMs: number;

  constructor(deps: GuardedFetchDeps) {
    this.#allowed = new AllowedHosts(deps.allowedPrivateHosts);
    this.#resolve = deps.resolve ?? resolveBySystem;
    this.#maxRedirects = deps.maxRedirects ?? MAX_REDIRECTS;
    this.#idleMs = deps.idleMs ?? IDLE_MS;
  }

  async open(url: string, limits: Limits, options: CallOptions): Promise<OutboundFile> {
    options.signal.throwIfAborted();
    await using taken = new CleanupStack();
    const times = { timeoutMs: limits.timeoutMs, idleMs: this.#idleMs };
    const life = taken.use(new FetchLife(times, options.signal));
    try {
      const { target, response } = await this.#follow(readTarget(url), life);
      const body = new OutboundBody({ response, url: target.url, maxBytes: limits.maxBytes, life });
      taken.move();
      return body;
    } catch (error) {
      throw life.explain(error);
    }
  }

  async #follow(first: Target, life: FetchLife): Promise<{ target: Target; response: IncomingMessage }> {
    let target = first;
    for (let hops = 0; ; hops += 1) {
      const addresses = await life.race(
        checkTarget(target, { allowed: this.#allowed, resolve: this.#resolve }),
      );
      const response = await send(target, addresses, life.signal);
      const location = REDIRECTS.has(response.statusCode ?? 0) ? response.headers.location : undefined;
      if (location === undefined) return { target, response };
      response.destroy();
      if (hops >= this.#maxRedirects)
        throw new ServiceError(
          "outbound.failed",
          `The server redirected more than ${this.#maxRedirects} times.`,
          { retryable: false },
        );
      target = readTarget(location, target.url);
    }
  }
}

/** One request without credentials, on a connection of its own to one of the checked addresses. */
function send(target: Target, addresses: readonly string[], signal: AbortSignal): Promise<IncomingMessage> {
  const { url, host, port } = target;
  const options: RequestOptions = {
    host,
    port,
    path: `${url.pathname}${url.search}`,
    method: "GET",
    headers: { host: url.host, accept: "*/*", "accept-encoding": "identity", "user-agent": "berth" },
    agent: false,
    lookup: answerWith(addresses),
    signal,
  };
  return new Promise((resolve, reject) => {
    const make = url.protocol === "https:" ? httpsRequest : httpRequest;
    make(options, resolve).on("error", reject).end();
  });
}
