/** A relayed connection as a Node stream, held to its times and to the bytes of its box. */
import { Duplex } from "node:stream";
import type { RelayedConnection } from "../../ports/egress-broker.js";
import type { ByteBudget, EgressLimits } from "./egress-limits.js";

/** How long a program may take to end a connection that was ended on this side. */
const LINGER_MS = 2000;
/** Of one connection, also when its box has nothing left: enough for a request and the answer that says so. */
const FREE_BYTES = 32_768;

export interface RelayStreamDeps {
  readonly connection: RelayedConnection;
  readonly budget: ByteBudget;
  readonly limits: Pick<EgressLimits, "connectionMs" | "idleMs">;
}

export class RelayStream extends Duplex {
  /** What came from the box, and what went into it. */
  sentBytes = 0;
  receivedBytes = 0;
  readonly budget: ByteBudget;
  readonly #connection: RelayedConnection;
  readonly #source: AsyncIterator<Uint8Array, unknown>;
  readonly #life = new AbortController();
  readonly #idleMs: number;
  readonly #total: NodeJS.Timeout;
  #idle: NodeJS.Timeout;
  #isReading = false;

  constructor({ connection, budget, limits }: RelayStreamDeps) {
    super({ allowHalfOpen: true });
    this.#connection = connection;
    this.budget = budget;
    this.#source = connection.bytes[Symbol.asyncIterator]();
    this.#idleMs = limits.idleMs;
    const giveUp = (): void => this.#giveUp("The connection lasted too long.");
    this.#total = setTimeout(giveUp, limits.connectionMs);
    this.#idle = this.#armIdle();
    // Whoever works with the stream hears of its end by "close"; a failure here is no failure of the service.
    this.on("error", () => undefined);
    void connection.closed.then(() => this.#letGo());
  }

  override _read(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    void this.#pull();
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.receivedBytes += chunk.length;
    if (!this.#count(chunk.length)) done(spent());
    else void this.#finish(this.#connection.write(chunk, this.#life), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    void this.#finish(this.#connection.end(this.#life), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#total);
    clearTimeout(this.#idle);
    if (error === null && this.writableFinished) this.#linger();
    else this.#connection.reset();
    this.#life.abort();
    done(error);
  }

  async #pull(): Promise<void> {
    try {
      const next = await this.#source.next();
      this.#isReading = false;
      if (next.done === true) this.push(null);
      else if (this.#count(next.value.length)) {
        this.sentBytes += next.value.length;
        this.push(next.value);
      } else this.destroy(spent());
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error("The connection broke off.", { cause: error }));
    }
  }

  async #finish(work: Promise<void>, done: (error?: Error | null) => void): Promise<void> {
    try {
      await work;
    } catch (error) {
      done(error instanceof Error ? error : new Error("The connection broke off.", { cause: error }));
      return;
    }
    if (!this.destroyed) this.#rearm();
    done();
  }

  #count(bytes: number): boolean {
    this.#rearm();
    return this.budget.take(bytes) || this.sentBytes + this.receivedBytes + bytes <= FREE_BYTES;
  }

  #rearm(): void {
    clearTimeout(this.#idle);
    if (!this.destroyed) this.#idle = this.#armIdle();
  }

  #armIdle(): NodeJS.Timeout {
    return setTimeout(() => this.#giveUp("Nothing went through the connection."), this.#idleMs);
  }

  #giveUp(reason: string): void {
    this.destroy(new Error(reason));
  }

  /** It is over on the other side, with everything that was to be told. */
  #letGo(): void {
    if (this.writableFinished || this.destroyed) return;
    this.destroy();
  }

  /** What was written may still be on its way to the program. */
  #linger(): void {
    const timer = setTimeout(() => this.#connection.reset(), LINGER_MS);
    void this.#connection.closed.then(() => clearTimeout(timer));
  }
}

function spent(): Error {
  return new Error("The box has moved all bytes it may move in an hour.");
}
