/** What every way through the broker shares: the ruling on a target, and what a refusal says. */
import type { EgressRules, EgressTarget } from "../../domain/egress-rules.js";
import type { Clock } from "../../ports/clock.js";
import type { CallOptions } from "../../ports/options.js";
import type { EgressLimits } from "./egress-limits.js";
import type { EgressLog, Passage } from "./egress-log.js";
import type { RelayStream } from "./relay-stream.js";
import { findAddresses, type Resolvers } from "./resolve-target.js";
import type { SecretHeaders } from "./secret-headers.js";

export interface PassageDeps {
  readonly rules: EgressRules;
  readonly resolvers: Resolvers;
  readonly secrets: SecretHeaders;
  readonly limits: EgressLimits;
  readonly log: EgressLog;
  readonly clock: Clock;
}

/** Milliseconds in which a host must take a connection. */
export const CONNECT_MS = 10_000;

/** Why something does not go through: a word for the log, a status and a sentence for the box. */
export interface Refusal {
  readonly word: "malformed" | "host" | "port" | "address" | "unreachable" | "spent" | "name";
  readonly status: 400 | 403 | 429 | 502;
  readonly text: string;
}

export const MALFORMED: Refusal = {
  word: "malformed",
  status: 400,
  text: "This is the proxy of a box: it takes CONNECT host:port, and http://host/ requests whose Host agrees.",
};
export const SPENT: Refusal = {
  word: "spent",
  status: 429,
  text: "The box has moved all bytes it may move in an hour (boxes.egress.max_mb_per_hour).",
};
/** The same words for an unknown name and for one that leads inside, so that nobody learns what exists. */
const NO_PUBLIC_ADDRESS: Refusal = {
  word: "address",
  status: 403,
  text: "The host has no public address that a box may reach.",
};
export const UNREACHABLE: Refusal = {
  word: "unreachable",
  status: 502,
  text: "The host did not take the connection.",
};

export type Route =
  | { readonly type: "addresses"; readonly addresses: readonly string[] }
  | { readonly type: "refused"; readonly refusal: Refusal };

/** Decides by the list first: a name that is not on it is not looked up (box §10.6). */
export async function findRoute(
  deps: Pick<PassageDeps, "rules" | "resolvers">,
  target: EgressTarget,
  options: CallOptions,
): Promise<Route> {
  const ruling = deps.rules.rule(target);
  if (ruling === "host" || ruling === "port") return { type: "refused", refusal: unlisted(ruling, target) };
  const of = { isListed: ruling === "private", resolvers: deps.resolvers };
  const addresses = await findAddresses(target, of, options);
  return addresses === null
    ? { type: "refused", refusal: NO_PUBLIC_ADDRESS }
    : { type: "addresses", addresses };
}

function unlisted(word: "host" | "port", { host, port }: EgressTarget): Refusal {
  const what = word === "host" ? `The host ${host}` : `Port ${port} of ${host}`;
  return {
    word,
    status: 403,
    text: `${what} is not on the list of what boxes may reach (boxes.egress.allow_hosts).`,
  };
}

/** One use of the network from its request to its end, for the log. */
export class PassageRecord {
  readonly #deps: Pick<PassageDeps, "log" | "clock">;
  readonly #stream: RelayStream;
  readonly #about: Pick<Passage, "sessionId" | "method">;
  readonly #begun: { readonly at: number; readonly sentBytes: number; readonly receivedBytes: number };
  #isTold = false;
  target: EgressTarget | null = null;

  constructor(
    deps: Pick<PassageDeps, "log" | "clock">,
    stream: RelayStream,
    about: Pick<Passage, "sessionId" | "method">,
  ) {
    this.#deps = deps;
    this.#stream = stream;
    this.#about = about;
    const { sentBytes, receivedBytes } = stream;
    this.#begun = { at: deps.clock.elapsed(), sentBytes, receivedBytes };
  }

  /** The first time counts. */
  tell(refusal: Refusal | null): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#deps.log.tell({
      ...this.#about,
      target: this.target,
      sentBytes: this.#stream.sentBytes - this.#begun.sentBytes,
      receivedBytes: this.#stream.receivedBytes - this.#begun.receivedBytes,
      durationMs: this.#deps.clock.elapsed() - this.#begun.at,
      refusal: refusal?.word ?? null,
    });
  }
}
