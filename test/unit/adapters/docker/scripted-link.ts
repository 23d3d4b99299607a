/** A worker that says what a test wrote down, and keeps what it was sent. */
import {
  encodeFrame,
  FROM_WORKER,
  TO_WORKER,
  type ToWorkerType,
  type WorkerFrame,
} from "../../../../src/adapters/docker/frame-codec.js";
import type { WorkerLink } from "../../../../src/adapters/docker/worker-link.js";

export interface SentFrame {
  readonly type: ToWorkerType;
  readonly index: number;
  readonly text: string;
}

/** A frame of the worker; anything but bytes goes as JSON. */
export function frame(type: keyof typeof FROM_WORKER, index = 0, payload: unknown = null): WorkerFrame {
  const bytes =
    payload instanceof Uint8Array ? payload : Buffer.from(payload === null ? "" : JSON.stringify(payload));
  return { type: FROM_WORKER[type], index, payload: bytes };
}

export const ENTRY = {
  kind: "file",
  size: 5,
  links: 1,
  mode: 0o644,
  modified: 1000,
  version: "v1",
  readable: true,
} as const;

export class ScriptedLink implements WorkerLink {
  readonly execId = "exec-1";
  readonly diagnostics = "";
  readonly sent: SentFrame[] = [];
  isDisposed = false;
  /** Answers to a frame of the service, e.g. to a kill. */
  onSend: (sent: SentFrame) => readonly (WorkerFrame | null)[] = () => [];
  readonly #frames: (WorkerFrame | Error | null)[];
  #wake: (() => void) | null = null;
  readonly #isOpen: boolean;

  /** @param isOpen whether the stream stays open after the last frame */
  constructor(frames: readonly (WorkerFrame | Error | null)[], isOpen = false) {
    this.#frames = [...frames];
    this.#isOpen = isOpen;
  }

  say(...frames: readonly (WorkerFrame | Error | null)[]): void {
    this.#frames.push(...frames);
    this.#wake?.();
  }

  async send(type: ToWorkerType, index: number, payload: Uint8Array = new Uint8Array(0)): Promise<void> {
    await Promise.resolve();
    if (this.isDisposed) throw new Error("The stream to the box is closed.");
    const sent = { type, index, text: Buffer.from(payload).toString("utf8") };
    this.sent.push(sent);
    this.say(...this.onSend(sent));
  }

  async next(): Promise<WorkerFrame | null> {
    while (this.#frames.length === 0 && this.#isOpen && !this.isDisposed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    if (this.isDisposed) throw new Error("Premature close");
    const next = this.#frames.shift() ?? null;
    if (next instanceof Error) throw next;
    return next;
  }

  /** How often a kind of frame was sent. */
  count(type: keyof typeof TO_WORKER): number {
    return this.sent.filter((sent) => sent.type === TO_WORKER[type]).length;
  }

  [Symbol.dispose](): void {
    this.isDisposed = true;
    this.#wake?.();
  }
}

/** Engine output as it comes from the socket: frames of the worker in the engine's own frames. */
export function engineBytes(stream: 1 | 2, ...payloads: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    payloads.map((payload) => {
      const header = Buffer.alloc(8);
      header.writeUInt8(stream, 0);
      header.writeUInt32BE(payload.length, 4);
      return Buffer.concat([header, payload]);
    }),
  );
}

export function encode({ type, index, payload }: WorkerFrame): Buffer {
  return encodeFrame(type, index, payload);
}

/** Frames of the service, read as the worker reads them. */
export function decodeSent(
  bytes: Buffer,
): readonly { readonly type: number; readonly index: number; readonly text: string }[] {
  const frames: { type: number; index: number; text: string }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at + 5);
    const text = bytes.subarray(at + 9, at + 9 + length).toString("utf8");
    frames.push({ type: bytes.readUInt8(at), index: bytes.readUInt32BE(at + 1), text });
    at += 9 + length;
  }
  return frames;
}
