/** One connection of a program in the box, as the helper relays it: bytes both ways, each within its window. */
import { ServiceError } from "../../domain/errors.js";
import type { RelayedConnection } from "../../ports/egress-broker.js";
import type { CallOptions } from "../../ports/options.js";
import { readCredit, readDone } from "./answers.js";
import type { BoxdConnection, FrameSink } from "./boxd-connection.js";
import { CommandInput } from "./command-input.js";
import { Credit } from "./credit.js";
import { FieldWriter } from "./fields.js";
import { type BoxdFrame, helperFault } from "./frame-codec.js";
import { DONE, HEAR, RELAY_WINDOW_BYTES, SAY } from "./protocol.js";

const STREAM = 0;

export class RelayedBytes implements RelayedConnection, FrameSink {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly closed: Promise<void>;
  /** When the helper has let go of it too, or was lost. Never rejects. */
  readonly gone: Promise<void>;
  readonly #connection: BoxdConnection;
  readonly #id: number;
  readonly #input: CommandInput;
  readonly #credit: Credit;
  readonly #pieces: Uint8Array[] = [];
  #hasEnded = false;
  #failure: ServiceError | null = null;
  #isOver = false;
  #wake: () => void = () => undefined;
  #close: () => void = () => undefined;
  #leave: () => void = () => undefined;

  constructor(connection: BoxdConnection, id: number) {
    this.#connection = connection;
    this.#id = id;
    this.#input = new CommandInput(connection, id, RELAY_WINDOW_BYTES);
    this.#credit = new Credit(RELAY_WINDOW_BYTES, (amount) => this.#grant(amount));
    this.bytes = this.#read();
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
    this.gone = new Promise((resolve) => {
      this.#leave = resolve;
    });
  }

  async write(bytes: Uint8Array, options: CallOptions): Promise<void> {
    await this.#input.write(bytes, options);
  }

  async end(options: CallOptions): Promise<void> {
    await this.#input.end(options);
  }

  reset(): void {
    if (this.#isOver) return;
    this.#connection.say(SAY.cancel, this.#id);
    this.#settle(brokenOff());
  }

  take(frame: BoxdFrame): void {
    switch (frame.type) {
      case HEAR.received:
        return this.#receive(frame.payload);
      case HEAR.ended:
        if (this.#hasEnded) throw helperFault("The box ended a connection twice.");
        this.#hasEnded = true;
        return this.#wake();
      case HEAR.credit:
        return this.#input.grant(readCredit(frame));
      case HEAR.done:
        this.#settle(readDone(frame) === DONE.complete ? null : brokenOff());
        return this.#leave();
      default:
        throw helperFault(`The box sent a frame of type ${frame.type} about a connection.`);
    }
  }

  lose(cause: ServiceError): void {
    this.#settle(cause);
    this.#leave();
  }

  #receive(payload: Uint8Array): void {
    this.#credit.use(payload);
    if (this.#hasEnded) throw helperFault("The box sent bytes of a connection that had ended.");
    // Those of one that was broken off on this side were on their way.
    if (this.#isOver) return;
    this.#pieces.push(payload);
    this.#wake();
  }

  /** The first end counts. */
  #settle(failure: ServiceError | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = failure;
    if (failure !== null) this.#pieces.length = 0;
    this.#input.close();
    this.#wake();
    this.#close();
  }

  async *#read(): AsyncIterable<Uint8Array> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        yield piece;
        this.#credit.giveBack(piece);
      } else if (this.#failure !== null) throw this.#failure;
      else if (this.#hasEnded || this.#isOver) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  #grant(amount: number): void {
    if (!this.#isOver)
      this.#connection.say(SAY.credit, this.#id, new FieldWriter().u8(STREAM).u32(amount).finish());
  }
}

function brokenOff(): ServiceError {
  return new ServiceError("outbound.failed", "The connection of the box was broken off.");
}
