/**
 * The relay of one helper: a port on the box's loopback whose connections the broker serves. The helper opens no more of
 * them than it is allowed to, at once and in time, so that a flood in the box waits in the box.
 */
import { ServiceError } from "../../domain/errors.js";
import { StallGuard } from "../../lib/stall-guard.js";
import type { BoxEgress } from "../../ports/egress-broker.js";
import type { CallOptions } from "../../ports/options.js";
import { readDone, readIndex, readPort, readWord } from "./answers.js";
import type { BoxdConnection, FrameSink } from "./boxd-connection.js";
import { FieldWriter } from "./fields.js";
import { type BoxdFrame, helperFault } from "./frame-codec.js";
import { ASK, HEAR, RELAY_WINDOW_BYTES, SAY } from "./protocol.js";
import { RelayedBytes } from "./relayed-bytes.js";

/** Where programs expect a proxy; another one where a program of the box has taken it. */
const USUAL_PORT = 3128;
const ANY_PORT = 0;
/** A connection counts for at least so long, however short it was: with 32 of them at most 320 in a second. */
const SHORTEST_MS = 100;
const STREAM = 0;
const ANSWER_MS = 10_000;

type Answer =
  | { readonly type: "port"; readonly port: number }
  | { readonly type: "fault"; readonly word: string }
  | { readonly type: "lost"; readonly cause: ServiceError };

export class BoxdRelay implements FrameSink {
  readonly #connection: BoxdConnection;
  readonly #egress: BoxEgress;
  readonly #id: number;
  readonly #answer: Promise<Answer>;
  readonly #timers = new Set<NodeJS.Timeout>();
  #resolve: (answer: Answer) => void = () => undefined;
  #isListening = false;
  /** Connections that the helper may still open. */
  #openings: number;

  private constructor(connection: BoxdConnection, egress: BoxEgress, port: number) {
    this.#connection = connection;
    this.#egress = egress;
    this.#openings = egress.maxConnections;
    this.#answer = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const body = new FieldWriter().u32(egress.maxConnections).u32(RELAY_WINDOW_BYTES).u16(port).finish();
    this.#id = connection.ask(ASK.relay, body, this);
  }

  /**
   * Lets the helper listen, until its connection ends.
   * @returns the port
   * @throws ServiceError `box.readiness` when it cannot, what ended the connection
   */
  static async start(connection: BoxdConnection, egress: BoxEgress, options: CallOptions): Promise<number> {
    const giveUp = (): void => connection.fail(helperFault("The helper did not begin to relay in time."));
    using guard = new StallGuard(giveUp, ANSWER_MS, options);
    guard.arm();
    try {
      return await this.#listen(connection, egress, options);
    } catch (error) {
      egress[Symbol.dispose]();
      throw error;
    }
  }

  static async #listen(connection: BoxdConnection, egress: BoxEgress, options: CallOptions): Promise<number> {
    if (!connection.canRelay) throw noRelay("its helper is older than this service");
    for (const port of [USUAL_PORT, ANY_PORT]) {
      const relay = new BoxdRelay(connection, egress, port);
      connection.onOpened = (id) => relay.#open(id);
      const answer = await relay.#answer;
      options.signal.throwIfAborted();
      if (answer.type === "port") return answer.port;
      if (answer.type === "lost") throw answer.cause;
      if (answer.word !== "in_use") throw noRelay(`its helper cannot listen (${answer.word})`);
    }
    throw noRelay("every port of its loopback is taken");
  }

  take(frame: BoxdFrame): void {
    switch (frame.type) {
      case HEAR.relaying:
        if (this.#isListening) throw helperFault("The box began to relay twice.");
        this.#isListening = true;
        return this.#resolve({ type: "port", port: readPort(frame) });
      case HEAR.fault:
        return this.#resolve({ type: "fault", word: readWord(readIndex(frame)) });
      case HEAR.done:
        readDone(frame);
        if (this.#isListening) throw helperFault("The box ended its relay by itself.");
        return;
      default:
        throw helperFault(`The box sent a frame of type ${frame.type} about its relay.`);
    }
  }

  lose(cause: ServiceError): void {
    this.#resolve({ type: "lost", cause });
    for (const timer of this.#timers) clearTimeout(timer);
    this.#egress[Symbol.dispose]();
  }

  #open(id: number): FrameSink {
    if (!this.#isListening || this.#openings === 0)
      throw helperFault("The box opened more connections than it was allowed to.");
    this.#openings -= 1;
    const relayed = new RelayedBytes(this.#connection, id);
    const earliest = Date.now() + SHORTEST_MS;
    void relayed.gone.then(() => this.#giveBack(earliest - Date.now()));
    this.#egress.accept(relayed);
    return relayed;
  }

  #giveBack(waitMs: number): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        this.#openings += 1;
        this.#connection.say(SAY.credit, this.#id, new FieldWriter().u8(STREAM).u32(1).finish());
      },
      Math.min(Math.max(0, waitMs), SHORTEST_MS),
    );
    this.#timers.add(timer);
  }
}

/** What programs of such a box find in their environment: most take their proxy from it. */
export function proxyVariables(port: number): Readonly<Record<string, string>> {
  const proxy = `http://127.0.0.1:${port}`;
  const direct = "localhost,127.0.0.1,::1";
  return {
    http_proxy: proxy,
    https_proxy: proxy,
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    no_proxy: direct,
    NO_PROXY: direct,
    // Newer versions of Node take the proxy only when told so.
    NODE_USE_ENV_PROXY: "1",
  };
}

function noRelay(reason: string): ServiceError {
  return new ServiceError("box.readiness", `The box cannot have its network: ${reason}.`, {
    hint: "Build the helper anew with `npm run image -- --target boxd`, or set boxes.network to off.",
  });
}
