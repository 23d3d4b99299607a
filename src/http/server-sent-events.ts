/** Writes an event stream: one event at a time, as fast as the client reads, with a comment as a sign of life (api §2). */
import type { Response } from "express";
import { STALL_MS, sendBytes } from "./send-bytes.js";

export interface StreamTiming {
  /** Milliseconds between comments. */
  readonly heartbeatMs: number;
  /** Milliseconds a client may take nothing before it counts as gone; it resumes by Last-Event-ID. */
  readonly stallMs: number;
}

export const STREAM_TIMING: StreamTiming = { heartbeatMs: 15_000, stallMs: STALL_MS };

export interface SentEvent {
  /** Absent = the client's last event id stays as it is. */
  readonly id?: number | undefined;
  readonly event: string;
  /** Becomes one line of JSON. */
  readonly data: unknown;
}

/** The text of one event. JSON has no raw line ends, so one data line is enough. */
export function formatEvent({ id, event, data }: SentEvent): string {
  const first = id === undefined ? "" : `id: ${id}\n`;
  return `${first}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

export class EventStream implements Disposable {
  readonly #response: Response;
  readonly #timing: StreamTiming;
  #heartbeat: NodeJS.Timeout | null = null;

  constructor(response: Response, timing: StreamTiming = STREAM_TIMING) {
    this.#response = response;
    this.#timing = timing;
  }

  /** Sends the head of the answer: from here on failures are events. */
  open(): void {
    this.#response.status(200).set({
      "Content-Type": "text/event-stream; charset=utf-8",
      "Cache-Control": "no-cache, no-transform",
      "X-Accel-Buffering": "no",
    });
    this.#response.flushHeaders();
    this.#heartbeat = setInterval(() => {
      // A comment on top of unread bytes tells nobody anything.
      if (!this.#response.writableNeedDrain) this.#response.write(": alive\n\n");
    }, this.#timing.heartbeatMs);
  }

  /** @throws ServiceError `request.timeout` when the client takes nothing for too long */
  async send(event: SentEvent): Promise<void> {
    await sendBytes(this.#response, formatEvent(event), this.#timing.stallMs);
  }

  [Symbol.dispose](): void {
    if (this.#heartbeat !== null) clearInterval(this.#heartbeat);
    this.#heartbeat = null;
    // Ending an answer whose reader is gone would make it look complete.
    if (!this.#response.destroyed && !this.#response.writableEnded) this.#response.end();
  }
}
