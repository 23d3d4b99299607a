/** Calls to the service and their answers, over all runs of this process. */
import { HostError } from "../../../plugin-sdk/index.mjs";

/** @typedef {Extract<import("../frames.js").HostFrame, { type: "value" | "item" | "end" | "failure" }>} Answer */

export class HostCalls {
  #channel;
  #lastId = 0;
  /** @type {Map<number, Answers>} */
  #open = new Map();

  /** @param {import("./channel.mjs").Channel} channel */
  constructor(channel) {
    this.#channel = channel;
  }

  /**
   * @param {import("../frames.js").HostFrame} frame
   * @returns {boolean} whether it was an answer
   */
  take(frame) {
    switch (frame.type) {
      case "value":
      case "item":
      case "end":
      case "failure":
        this.#open.get(frame.id)?.push(frame);
        return true;
      default:
        return false;
    }
  }

  /**
   * @param {{ run_id: string, action: string, payload: unknown }} request
   * @param {readonly AbortSignal[]} signals
   */
  async call(request, signals) {
    for await (const value of this.stream(request, signals)) return value;
    return undefined;
  }

  /**
   * Every value of the answer, as it comes.
   * @param {{ run_id: string, action: string, payload: unknown }} request
   * @param {readonly AbortSignal[]} signals each of them gives the call up
   * @returns {AsyncGenerator<unknown, void>}
   */
  async *stream(request, signals) {
    this.#lastId += 1;
    const id = this.#lastId;
    const answers = new Answers(signals);
    let isOver = false;
    try {
      answers.throwIfAborted();
      this.#open.set(id, answers);
      await this.#channel.send({ type: "call", id, ...request });
      while (!isOver) {
        const frame = await answers.next();
        isOver = frame.type !== "item";
        if (frame.type === "failure") throw new HostError(frame.error);
        if (frame.type !== "end") yield frame.value;
      }
    } finally {
      answers.close();
      if (this.#open.delete(id) && !isOver) await this.#channel.send({ type: "leave", id });
    }
  }
}

/** What has come for one call and was not read yet. */
class Answers {
  #signals;
  /** @type {Answer[]} */
  #frames = [];
  /** @type {(() => void) | null} */
  #wakeUp = null;
  #wake = () => this.#wakeUp?.();

  /** @param {readonly AbortSignal[]} signals */
  constructor(signals) {
    this.#signals = signals;
    for (const signal of signals) signal.addEventListener("abort", this.#wake, { once: true });
  }

  /** @param {Answer} frame */
  push(frame) {
    this.#frames.push(frame);
    this.#wake();
  }

  /** @returns {Promise<Answer>} */
  async next() {
    for (;;) {
      this.throwIfAborted();
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      await new Promise((resolve) => {
        this.#wakeUp = () => resolve(undefined);
      });
    }
  }

  throwIfAborted() {
    for (const signal of this.#signals) signal.throwIfAborted();
  }

  close() {
    for (const signal of this.#signals) signal.removeEventListener("abort", this.#wake);
  }
}
