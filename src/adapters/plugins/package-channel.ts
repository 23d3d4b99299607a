/** The service's end of the channel to a package's process: frames both ways, with back-pressure towards the process. */
import type { Duplex } from "node:stream";
import { JsonLines } from "../../lib/json-lines.js";
import { type ChildFrame, childFrameSchema, type HostFrame, MAX_LINE_BYTES } from "./frames.js";

/** Bytes that may wait for the process to read; above it nothing is taken from it, so that no answer is owed for more. */
const MAX_UNREAD_BYTES = 2 * MAX_LINE_BYTES;
/** Values and levels of one line: what is read holds up everybody. */
const LINE_LIMITS = { maxBytes: MAX_LINE_BYTES, maxValues: 500_000, maxDepth: 256 };

export interface ChannelEvents {
  readonly onFrame: (frame: ChildFrame) => void;
  /** Something that is no frame; nothing more is read. */
  readonly onFault: (cause: unknown) => void;
}

export class PackageChannel {
  readonly #socket: Duplex;
  /** Shared by all that wait for room. */
  #drain: Promise<void> | null = null;

  constructor(socket: Duplex, { onFrame, onFault }: ChannelEvents) {
    this.#socket = socket;
    const lines = new JsonLines(LINE_LIMITS);
    socket.on("data", (piece: Buffer) => {
      try {
        for (const value of lines.push(piece)) onFrame(childFrameSchema.parse(value));
      } catch (error) {
        socket.destroy();
        onFault(error);
      }
    });
    // The end of the process tells what happened.
    socket.on("error", () => socket.destroy());
  }

  /**
   * Resolves when there is room for more; a frame for a process that is gone goes nowhere.
   * @returns false for a frame above the limit of a line: it is not sent
   */
  async send(frame: HostFrame): Promise<boolean> {
    const line = `${JSON.stringify(frame)}\n`;
    if (Buffer.byteLength(line) > MAX_LINE_BYTES) return false;
    if (this.#socket.destroyed || !this.#socket.writable) return true;
    if (this.#socket.write(line)) return true;
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) this.#socket.pause();
    await (this.#drain ??= this.#waitForRoom());
    return true;
  }

  async #waitForRoom(): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        this.#drain = null;
        this.#socket.off("drain", end).off("close", end).resume();
        resolve();
      };
      this.#socket.on("drain", end).on("close", end);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}
