/** Calls to the service and their answers, over all runs of this process. */
import { HostError } from "../../../plugin-sdk/index.mjs";

/** @typedef {Extract<import("../frames.js").HostFrame, { type: "value" | "item" | "end" | "failure" }>} Answer */

export class HostCalls {
  #channel;
  #lastId = 0;
  /** @type {Map<number, (frame: Answer | { type: "left" }) => void>} */
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
        this.#open.get(frame.id)?.(frame);
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
    for (const signal of signals) signal.throwIfAborted();
    this.#lastId += 1;
    const id = this.#lastId;
    /** @type {(Answer | { type: "left" })[]} */
    const frames = [];
    let wake = () => {};
    const push = (/** @type {Answer | { type: "left" }} */ frame) => {
      frames.push(frame);
      wake();
    };
    const leave = () => push({ type: "left" });
    for (const signal of signals) signal.addEventListener("abort", leave, { once: true });
    this.#open.set(id, push);
    let isOver = false;
    try {
      await this.#channel.send({ type: "call", id, ...request });
      for (;;) {
        while (frames.length === 0)
          await new Promise((resolve) => {
            wake = () => resolve(undefined);
          });
        const frame = frames.shift() ?? { type: "left" };
        if (frame.type === "left") {
          for (const signal of signals) signal.throwIfAborted();
          continue;
        }
        isOver = frame.type !== "item";
        if (frame.type === "failure") throw new HostError(frame.error);
        if (frame.type === "end") return;
        yield frame.value;
        if (isOver) return;
      }
    } finally {
      for (const signal of signals) signal.removeEventListener("abort", leave);
      this.#open.delete(id);
      if (!isOver) await this.#channel.send({ type: "leave", id });
    }
  }
}
