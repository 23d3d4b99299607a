/** Standard input of a command, or bytes for a relayed connection, on their way into the box within the helper's window. */
import { ServiceError } from "../../domain/errors.js";
import { abortReason } from "../../lib/abort-reason.js";
import type { CallOptions } from "../../ports/options.js";
import type { BoxdConnection } from "./boxd-connection.js";
import { costOf } from "./credit.js";
import { helperFault } from "./frame-codec.js";
import { MAX_PAYLOAD_BYTES, SAY } from "./protocol.js";

const EMPTY = new Uint8Array(0);

/** One writer at a time. */
export class CommandInput {
  readonly #connection: BoxdConnection;
  readonly #id: number;
  readonly #windowBytes: number;
  #window: number;
  #isClosed = false;
  #wake: () => void = () => undefined;

  /** @param windowBytes that the helper takes before it says more */
  constructor(connection: BoxdConnection, id: number, windowBytes = connection.windowBytes) {
    this.#connection = connection;
    this.#id = id;
    this.#windowBytes = windowBytes;
    this.#window = windowBytes;
  }

  /** @throws ServiceError `box.process_not_found` when the command has ended; the abort's reason after an abort */
  async write(bytes: Uint8Array, options: CallOptions): Promise<void> {
    for (let start = 0; start < bytes.length; start += MAX_PAYLOAD_BYTES)
      await this.#say(SAY.data, bytes.subarray(start, start + MAX_PAYLOAD_BYTES), options);
  }

  /** @throws ServiceError as `write` */
  async end(options: CallOptions): Promise<void> {
    await this.#say(SAY.end, EMPTY, options);
  }

  /** The helper takes so much more. @throws ServiceError when that is more than it was sent */
  grant(bytes: number): void {
    this.#window += bytes;
    if (this.#window > this.#windowBytes) throw helperFault("The box gave back more input than it had got.");
    this.#wake();
  }

  /** Nobody reads any more. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  async #say(
    type: typeof SAY.data | typeof SAY.end,
    payload: Uint8Array,
    { signal }: CallOptions,
  ): Promise<void> {
    const cost = costOf(payload);
    signal.throwIfAborted();
    while (!this.#isClosed && this.#window < cost) await this.#change(signal);
    if (this.#isClosed)
      throw new ServiceError("box.process_not_found", "The process has ended and takes no input.");
    this.#window -= cost;
    await this.#connection.send(type, this.#id, { payload, signal });
  }

  async #change(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => reject(abortReason(signal));
      signal.addEventListener("abort", giveUp, { once: true });
      this.#wake = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
    });
  }
}
