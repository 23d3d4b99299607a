/** The broker as an HTTP proxy whose connections come out of boxes; it listens nowhere. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { EgressRules } from "../../domain/egress-rules.js";
import type { SessionId } from "../../domain/ids.js";
import type { Clock } from "../../ports/clock.js";
import type { BoxEgress, EgressBroker, RelayedConnection } from "../../ports/egress-broker.js";
import type { Logger } from "../../ports/logger.js";
import { ByteBudget, type EgressLimits } from "./egress-limits.js";
import { EgressLog } from "./egress-log.js";
import { MALFORMED, type PassageDeps, PassageRecord, UNREACHABLE } from "./passages.js";
import { servePlain } from "./plain-request.js";
import { RelayStream } from "./relay-stream.js";
import { type Resolvers, SYSTEM_RESOLVERS } from "./resolve-target.js";
import { type SecretHeader, SecretHeaders } from "./secret-headers.js";
import { serveTunnel } from "./tunnel.js";

const MAX_HEADER_BYTES = 16_384;
const MAX_REQUESTS_PER_CONNECTION = 100;

/** What the operator decides. */
export interface EgressSettings {
  readonly rules: EgressRules;
  readonly limits: EgressLimits;
  readonly secretHeaders: readonly SecretHeader[];
}

export interface HttpEgressBrokerDeps extends EgressSettings {
  readonly logger: Logger;
  readonly clock: Clock;
  /** The system's where not given. */
  readonly resolvers?: Partial<Resolvers> | undefined;
}

/** What a stream of ours belongs to. */
interface Owner {
  readonly stream: RelayStream;
  readonly sessionId: SessionId;
  readonly signal: AbortSignal;
}

export class HttpEgressBroker implements EgressBroker {
  readonly #passage: PassageDeps;
  readonly #server: Server;
  readonly #budgets = new Map<SessionId, ByteBudget>();
  readonly #owners = new WeakMap<object, Owner>();

  constructor(deps: HttpEgressBrokerDeps) {
    const { rules, limits, clock } = deps;
    this.#passage = {
      rules,
      limits,
      clock,
      resolvers: { ...SYSTEM_RESOLVERS, ...deps.resolvers },
      secrets: new SecretHeaders(deps.secretHeaders),
      log: new EgressLog(deps.logger, () => clock.elapsed()),
    };
    this.#server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, insecureHTTPParser: false });
    this.#server.maxRequestsPerSocket = MAX_REQUESTS_PER_CONNECTION;
    // Else Node ends a connection as soon as its program has said all it had to say, before it has its answer.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.on("request", (request, response) => void this.#answer(request, response));
    this.#server.on("connect", (request, _socket, head) => void this.#connect(request, head));
  }

  serve({ sessionId }: { readonly sessionId: SessionId }): BoxEgress {
    const { limits } = this.#passage;
    const budget = this.#budgetOf(sessionId);
    const open = new Set<RelayStream>();
    return {
      maxConnections: limits.maxConnections,
      accept: (connection: RelayedConnection) => {
        const stream = new RelayStream({ connection, budget, limits });
        const life = new AbortController();
        open.add(stream);
        this.#owners.set(stream, { stream, sessionId, signal: life.signal });
        stream.once("close", () => {
          open.delete(stream);
          life.abort();
        });
        this.#server.emit("connection", stream);
      },
      [Symbol.dispose]: () => {
        for (const stream of open) stream.destroy();
      },
    };
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const owner = this.#owners.get(request.socket);
    if (owner === undefined) return;
    const record = this.#record(owner, request);
    try {
      await servePlain(this.#passage, { stream: owner.stream, request, response, record }, owner);
    } catch {
      record.tell(UNREACHABLE);
      owner.stream.destroy();
    }
  }

  async #connect(request: IncomingMessage, head: Buffer): Promise<void> {
    const owner = this.#owners.get(request.socket);
    if (owner === undefined) return;
    const record = this.#record(owner, request);
    const { rawHeaders, url: authority = "" } = request;
    const hosts = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === "host");
    try {
      await serveTunnel(this.#passage, { stream: owner.stream, authority, hosts, head, record }, owner);
    } catch {
      record.tell(MALFORMED);
      owner.stream.destroy();
    }
  }

  #record({ stream, sessionId }: Owner, { method = "" }: IncomingMessage): PassageRecord {
    return new PassageRecord(this.#passage, stream, { sessionId, method });
  }

  /** Kept while its hour lasts, so that a box that is served anew has no more. */
  #budgetOf(sessionId: SessionId): ByteBudget {
    for (const [id, budget] of this.#budgets) if (budget.isStale) this.#budgets.delete(id);
    const known = this.#budgets.get(sessionId);
    if (known !== undefined) return known;
    const { limits, clock } = this.#passage;
    const budget = new ByteBudget(limits.maxBytesPerHour, () => clock.elapsed());
    this.#budgets.set(sessionId, budget);
    return budget;
  }
}
