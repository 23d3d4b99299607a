/** Questions to the process of a package, tools and events: one answer each. */
import { ServiceError } from "../../domain/errors.js";
import { abortReason } from "../../lib/abort-reason.js";
import type { CallOptions } from "../../ports/options.js";
import type { ChildFrame, HostFrame } from "./frames.js";

export type Answer =
  | { readonly ok: true; readonly value: unknown }
  /** `said` may be shown to a model; `cause` is for the log. */
  | { readonly ok: false; readonly said: string; readonly cause: Error };

type Question =
  | Omit<Extract<HostFrame, { type: "tool" }>, "id">
  | Omit<Extract<HostFrame, { type: "event" }>, "id">;

interface Waiting {
  readonly answer: (answer: Answer) => void;
  readonly fail: (error: Error) => void;
}

export class Asks {
  readonly #send: (frame: HostFrame) => Promise<boolean>;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  /** @param send gives false for a frame that is too large */
  constructor(send: (frame: HostFrame) => Promise<boolean>) {
    this.#send = send;
  }

  get count(): number {
    return this.#waiting.size;
  }

  /** @throws the signal's reason, ServiceError `request.too_large`, and whatever `endAll` was given */
  async ask(question: Question, { signal }: CallOptions): Promise<Answer> {
    signal.throwIfAborted();
    this.#lastId += 1;
    const id = this.#lastId;
    const giveUp = (): void => {
      this.#waiting.get(id)?.fail(abortReason(signal));
      void this.#send({ type: "drop", id });
    };
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      return await new Promise<Answer>((resolve, reject) => {
        this.#waiting.set(id, { answer: resolve, fail: reject });
        void this.#put({ ...question, id });
      });
    } finally {
      signal.removeEventListener("abort", giveUp);
      this.#waiting.delete(id);
    }
  }

  async #put(frame: HostFrame & { readonly id: number }): Promise<void> {
    if (await this.#send(frame)) return;
    const error = new ServiceError(
      "request.too_large",
      "This is too large for the way to the package's process.",
    );
    this.#waiting.get(frame.id)?.fail(error);
  }

  take(frame: Extract<ChildFrame, { type: "answer" | "no_answer" }>): void {
    const waiting = this.#waiting.get(frame.id);
    if (frame.type === "answer") waiting?.answer({ ok: true, value: frame.value });
    else waiting?.answer({ ok: false, said: frame.said, cause: new Error(frame.error) });
  }

  endAll(error: () => Error): void {
    for (const { fail } of this.#waiting.values()) fail(error());
  }
}
