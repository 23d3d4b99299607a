/**
 * One channel to one helper: it is greeted, asked for many things at once by id, and held to the protocol. The first
 * fault ends it, and everything open fails with it; it is never mended (design §2).
 */
import { ServiceError } from "../../domain/errors.js";
import { endsWithin } from "../../lib/delay.js";
import { PeriodicTask } from "../../lib/periodic-task.js";
import { StallGuard } from "../../lib/stall-guard.js";
import type { BoxChannel } from "../../ports/box-channel.js";
import type { CallOptions } from "../../ports/options.js";
import { type Hello, readError, readHello } from "./answers.js";
import { FieldWriter } from "./fields.js";
import {
  type BoxdFrame,
  createFrameDecoder,
  encodeFrame,
  encodeHeader,
  encodeRequest,
  helperFault,
} from "./frame-codec.js";
import {
  type AskType,
  FEATURE_RELAY,
  FIRST_RELAYED_ID,
  HEAR,
  PROTOCOL,
  SAY,
  type SayType,
} from "./protocol.js";
import { RequestSlots } from "./request-slots.js";

const GREETING_MS = 10_000;
const HEARTBEAT_MS = 20_000;
/** A helper that says nothing for so long after it was spoken to may stand still with its box. */
const SILENCE_MS = 3000;
const SILENCE_LOOKS = 3;
/** The helper takes 64; what is above this waits here, where it can be given up. */
const MAX_FILE_REQUESTS = 32;
/** What is smaller goes out with its header in one piece. */
const COPIED_BYTES = 4096;
const LARGEST_ID = FIRST_RELAYED_ID - 1;

/** Whoever asked for something: gets its frames up to the end, or hears that there will be none. */
export interface FrameSink {
  /** @throws ServiceError when the frame does not belong here; that ends the connection */
  take(frame: BoxdFrame): void;
  /** The connection is gone; the outcome is unknown. */
  lose(cause: ServiceError): void;
}

export type ConnectionEnd =
  /** We closed it. */
  | { readonly type: "closed" }
  /** The helper ended, or the transport broke. */
  | { readonly type: "ended"; readonly cause: unknown }
  /** The helper broke the protocol or did not answer. */
  | { readonly type: "fault"; readonly cause: ServiceError };

export class BoxdConnection implements AsyncDisposable {
  readonly slots = new RequestSlots(MAX_FILE_REQUESTS);
  /** Who serves a connection that the box opens; null while none may come. */
  onOpened: ((id: number) => FrameSink) | null = null;
  /** Hears that the helper says nothing while something is asked of it; that is no fault yet. */
  onSilence: (() => void) | null = null;
  /** Variables that every command over it gets unless it says otherwise. */
  environment: Readonly<Record<string, string>> = {};
  readonly #channel: BoxChannel;
  readonly #life = new AbortController();
  readonly #sinks = new Map<number, FrameSink>();
  readonly #heartbeat: PeriodicTask;
  #lastId = 0;
  #hello: Hello | null = null;
  #end: ConnectionEnd | null = null;
  #onHello: () => void = () => undefined;
  #onPong: (() => void) | null = null;
  /** Pings that have no answer yet. */
  #openPings = 0;
  #isSuspended = false;
  #suspensions = 0;
  /** How often something came. */
  #words = 0;
  #silence: NodeJS.Timeout | null = null;
  #reading: Promise<void> = Promise.resolve();

  private constructor(channel: BoxChannel) {
    this.#channel = channel;
    this.#heartbeat = new PeriodicTask({
      everyMs: HEARTBEAT_MS,
      work: async () => this.#beat(),
      onError: (cause) => this.#finish({ type: "ended", cause }),
    });
  }

  /**
   * Greets the helper at the other end.
   * @throws ServiceError `box.engine_unavailable` when there is none that speaks the protocol; the channel is closed then
   */
  static async open(channel: BoxChannel, options: CallOptions): Promise<BoxdConnection> {
    const connection = new BoxdConnection(channel);
    try {
      await connection.#greet(options);
      return connection;
    } catch (error) {
      await connection[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Null while it lives. */
  get end(): ConnectionEnd | null {
    return this.#end;
  }

  /** Whether it is there and may be expected to answer. */
  get isLive(): boolean {
    return !this.#isQuiet();
  }

  get version(): string {
    return this.#hello?.version ?? "";
  }

  /** Whether the helper can listen in the box for connections to the outside. */
  get canRelay(): boolean {
    return ((this.#hello?.features ?? 0) & FEATURE_RELAY) !== 0;
  }

  /** Bytes of contents that may be on their way to one request, headers included. */
  get windowBytes(): number {
    return this.#hello?.windowBytes ?? 0;
  }

  /** What the helper wrote beside the channel; for the log. */
  get diagnostics(): string {
    return this.#channel.diagnostics;
  }

  /** Begins a request; its frames go to the sink. @returns its id. @throws ServiceError when the connection is gone */
  ask(type: AskType, body: Uint8Array, sink: FrameSink): number {
    if (this.#end !== null) throw this.#lost();
    const id = this.#newId();
    this.#sinks.set(id, sink);
    this.#write(encodeRequest(type, id, body));
    this.#expectWord();
    return id;
  }

  /** Says something about a request; when it cannot be sent, the connection ends and the request hears of it. */
  say(type: SayType, id: number, payload?: Uint8Array): void {
    if (this.#end !== null) return;
    this.#write(encodeFrame(type, id, payload));
    if (id !== 0) this.#expectWord();
  }

  /** Like `say`, and resolves when the transport wants more; the payload is not to be changed after. @throws what ended the transport, or the abort's reason */
  async send(
    type: SayType,
    id: number,
    of: { readonly payload: Uint8Array; readonly signal: AbortSignal },
  ): Promise<void> {
    if (this.#end !== null) throw this.#lost();
    const { payload, signal } = of;
    if (payload.length < COPIED_BYTES) return this.#channel.write(encodeFrame(type, id, payload), { signal });
    this.#write(encodeHeader(type, id, payload.length));
    return this.#channel.write(payload, { signal });
  }

  /** The box stands still from here on, so the helper cannot answer: its silence is no fault. */
  suspend(): void {
    this.#isSuspended = true;
    this.#suspensions += 1;
  }

  resume(): void {
    this.#isSuspended = false;
  }

  /** The helper did what no honest one does. */
  fail(cause: ServiceError): void {
    this.#finish({ type: "fault", cause });
  }

  /** The helper sees the end of its input and ends all it has started. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#finish({ type: "closed" });
    await this.#channel.close();
    await this.#heartbeat[Symbol.asyncDispose]();
    await this.#reading;
  }

  async #greet(options: CallOptions): Promise<void> {
    options.signal.throwIfAborted();
    const greeted = new Promise<void>((resolve) => {
      this.#onHello = resolve;
    });
    const giveUp = (): void =>
      this.fail(helperFault(`The helper did not greet within ${GREETING_MS / 1000} s.`));
    using guard = new StallGuard(giveUp, GREETING_MS, options);
    guard.arm();
    this.#reading = this.#read();
    await greeted;
    options.signal.throwIfAborted();
    if (this.#end !== null) throw this.#lost();
    this.#write(
      encodeFrame(SAY.hello, 0, new FieldWriter().u16(PROTOCOL).u16(PROTOCOL).text("berth").finish()),
    );
    this.#heartbeat.start();
  }

  async #read(): Promise<void> {
    const decoder = createFrameDecoder();
    try {
      for await (const piece of this.#channel.bytes) {
        this.#words += 1;
        for (const frame of decoder.push(piece)) this.#dispatch(frame);
        if (this.#end !== null) return;
      }
      this.#finish({ type: "ended", cause: null });
    } catch (cause) {
      if (cause instanceof ServiceError) this.fail(cause);
      else this.#finish({ type: "ended", cause });
    }
  }

  #dispatch(frame: BoxdFrame): void {
    if (this.#end !== null) return;
    if (frame.id === 0) {
      this.#takeOwn(frame);
      return;
    }
    if (frame.type === HEAR.opened) return this.#takeOpened(frame);
    const sink = this.#sinks.get(frame.id);
    if (sink === undefined || this.#hello === null)
      throw helperFault("The box answered a request that nobody has made.");
    sink.take(frame);
    // Only then: an end that is refused still has somebody who must hear that all is lost.
    if (frame.type === HEAR.done) this.#sinks.delete(frame.id);
  }

  #takeOpened({ id, payload }: BoxdFrame): void {
    if (this.onOpened === null || id < FIRST_RELAYED_ID || this.#sinks.has(id) || payload.length > 0)
      throw helperFault("The box opened a connection that is none.");
    this.#sinks.set(id, this.onOpened(id));
  }

  /** Frames about the connection itself. */
  #takeOwn(frame: BoxdFrame): void {
    if (frame.type === HEAR.hello && this.#hello === null) {
      this.#hello = readHello(frame);
      this.#onHello();
    } else if (frame.type === HEAR.pong && this.#openPings > 0) {
      this.#openPings -= 1;
      this.#onPong?.();
    } else if (frame.type === HEAR.error) {
      throw helperFault(`The helper broke off: ${JSON.stringify(readError(frame))}.`);
    } else {
      throw helperFault(`The box sent a frame of type ${frame.type} that nobody waits for.`);
    }
  }

  /** Asks in two halves: after a pause of this whole process the answer that lies ready is read before the judgement. */
  async #beat(): Promise<void> {
    if (this.#isSuspended) return;
    const answered = new Promise<void>((resolve) => {
      this.#onPong = resolve;
    });
    this.#openPings += 1;
    const suspensions = this.#suspensions;
    this.say(SAY.ping, 0, Buffer.from("berth"));
    for (let half = 0; half < 2; half += 1)
      if (this.#isQuiet() || (await endsWithin(answered, HEARTBEAT_MS / 2))) {
        this.#onPong = null;
        return;
      } else if (half === 0 && this.#sinks.size > 0) this.onSilence?.();
    // Whoever stood still in between has not had all that time.
    if (this.#isQuiet() || suspensions !== this.#suspensions) return;
    this.fail(helperFault(`The helper did not answer within ${HEARTBEAT_MS / 1000} s.`));
  }

  #expectWord(): void {
    if (this.#silence === null) this.#listen(SILENCE_LOOKS);
  }

  #listen(looks: number): void {
    const words = this.#words;
    this.#silence = setTimeout(() => {
      this.#silence = null;
      if (this.#isQuiet() || this.#sinks.size === 0) return;
      const left = this.#words === words ? looks - 1 : SILENCE_LOOKS;
      if (left > 0) this.#listen(left);
      else this.onSilence?.();
    }, SILENCE_MS / SILENCE_LOOKS);
  }

  /** Whether no answer is to be expected. */
  #isQuiet(): boolean {
    return this.#end !== null || this.#isSuspended;
  }

  /** The first end counts. */
  #finish(end: ConnectionEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    const sinks = [...this.#sinks.values()];
    this.#sinks.clear();
    this.#life.abort();
    if (this.#silence !== null) clearTimeout(this.#silence);
    this.#onHello();
    this.#onPong?.();
    for (const sink of sinks) sink.lose(this.#lost());
    // Both only let go; what is left of the channel has nobody who could be told.
    this.#heartbeat[Symbol.asyncDispose]().catch(() => undefined);
    this.#channel.close().catch(() => undefined);
  }

  #lost(): ServiceError {
    const end = this.#end;
    if (end?.type === "fault") return end.cause;
    return new ServiceError("box.engine_unavailable", "The helper in the box ended before it had answered.", {
      hint: "The outcome is unknown: look at the files in the box before trying again.",
      cause: end?.type === "ended" ? end.cause : undefined,
    });
  }

  /** When this cannot be written, the channel has ended, and the reading sees it. */
  #write(bytes: Uint8Array): void {
    this.#channel.write(bytes, { signal: this.#life.signal }).catch(() => undefined);
  }

  #newId(): number {
    do this.#lastId = this.#lastId >= LARGEST_ID ? 1 : this.#lastId + 1;
    while (this.#sinks.has(this.#lastId));
    return this.#lastId;
  }
}
