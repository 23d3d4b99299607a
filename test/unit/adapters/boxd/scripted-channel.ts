/** A channel whose far end does what a test says. */
import { FieldWriter } from "../../../../src/adapters/boxd/fields.js";
import { encodeFrame } from "../../../../src/adapters/boxd/frame-codec.js";
import { HEADER_BYTES, HEAR, type HearType } from "../../../../src/adapters/boxd/protocol.js";
import type { BoxChannel } from "../../../../src/ports/box-channel.js";

/** One frame of the service, as the far end reads it. */
export interface Asked {
  readonly type: number;
  readonly id: number;
  readonly payload: Buffer;
}

export class ScriptedChannel implements BoxChannel {
  readonly asked: Asked[] = [];
  readonly diagnostics = "";
  readonly bytes: AsyncIterable<Uint8Array>;
  isClosed = false;
  /** What the far end does with every frame of the service. */
  onAsked: (asked: Asked) => void = () => undefined;
  readonly #pieces: Array<Uint8Array | Error | null> = [];
  #wake: (() => void) | null = null;
  /** A frame of the service that is not complete. */
  #begun = Buffer.alloc(0);

  constructor() {
    this.bytes = this.#read();
  }

  get hasEnded(): boolean {
    return this.isClosed;
  }

  /** Says raw bytes. */
  push(bytes: Uint8Array): void {
    this.#add(bytes);
  }

  say(type: HearType, id: number, payload: Uint8Array = Buffer.alloc(0)): void {
    this.push(encodeFrame(type, id, payload));
  }

  hello(protocol = 1): void {
    this.say(HEAR.hello, 0, helloPayload(protocol));
  }

  /** Ends the stream, or breaks it. */
  end(error?: Error): void {
    this.#add(error ?? null);
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.isClosed) throw new Error("closed");
    const all = Buffer.concat([this.#begun, bytes]);
    let at = 0;
    while (all.length - at >= HEADER_BYTES) {
      const end = at + HEADER_BYTES + all.readUInt32LE(at);
      if (end > all.length) break;
      const asked = {
        type: all.readUInt8(at + 8),
        id: all.readUInt32LE(at + 4),
        payload: all.subarray(at + HEADER_BYTES, end),
      };
      this.asked.push(asked);
      this.onAsked(asked);
      at = end;
    }
    this.#begun = all.subarray(at);
    await Promise.resolve();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.#add(null);
    await Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #add(piece: Uint8Array | Error | null): void {
    this.#pieces.push(piece);
    this.#wake?.();
  }

  async *#read(): AsyncIterable<Uint8Array> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece === undefined)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      else if (piece === null) return;
      else if (piece instanceof Error) throw piece;
      else yield piece;
    }
  }
}

export function helloPayload(protocol = 1): Buffer {
  return new FieldWriter()
    .u16(protocol)
    .u32(7)
    .u32(65_536)
    .u32(1_048_576)
    .u32(131_072)
    .u16(64)
    .u16(64)
    .u32(12)
    .u32(30_001)
    .text("1.0.0")
    .finish();
}

/** A file as the helper describes it. */
export function entryFields(sizeBytes: number, version = "1.2.3"): FieldWriter {
  return new FieldWriter().u8(0).u8(1).u16(0o644).u32(1).u64(sizeBytes).u64(1000).text(version);
}

export function exitPayload(
  change: { by?: number; ended?: number; value?: number; leftovers?: number } = {},
): Buffer {
  const { by = 0, ended = 1, value = 0, leftovers = 0 } = change;
  const times = new FieldWriter().u64(1).u64(2).u64(3).u64(4).u64(5).u64(0).u64(0).u8(0);
  return new FieldWriter().u8(by).u8(ended).u16(value).u32(leftovers).all(times).finish();
}
