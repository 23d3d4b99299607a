/** Tools and events: one question of the service, one answer. */
import { describe } from "./runs.mjs";

/** @typedef {Extract<import("../frames.js").HostFrame, { type: "tool" | "event" }>} Question */

export class Asks {
  #channel;
  #plugin;
  /** @type {Map<number, AbortController>} */
  #open = new Map();

  /**
   * @param {import("./channel.mjs").Channel} channel
   * @param {import("./load-plugin.mjs").Plugin} plugin
   */
  constructor(channel, plugin) {
    this.#channel = channel;
    this.#plugin = plugin;
  }

  /** @param {import("../frames.js").HostFrame} frame */
  take(frame) {
    if (frame.type === "drop") this.#open.get(frame.id)?.abort();
    else if (frame.type === "tool" || frame.type === "event") void this.#answer(frame);
  }

  /** @param {Question} frame */
  async #answer(frame) {
    const { id } = frame;
    const controller = new AbortController();
    this.#open.set(id, controller);
    try {
      const value = await this.#work(frame, { signal: controller.signal });
      await this.#channel.send({ type: "answer", id, value: value ?? null });
    } catch (error) {
      await this.#channel.send({ type: "no_answer", id, error: describe(error), said: saidBy(error) });
    } finally {
      this.#open.delete(id);
    }
  }

  /**
   * @param {Question} frame
   * @param {{ signal: AbortSignal }} options
   */
  async #work(frame, options) {
    const { tools, onEvent } = this.#plugin;
    if (frame.type === "event") return onEvent?.(frame.event, options);
    const tool = tools[frame.name];
    if (typeof tool !== "function") throw new TypeError(`The package has no tool "${frame.name}".`);
    return tool(frame.parameters, options);
  }
}

/** @param {unknown} error */
function saidBy(error) {
  return (error instanceof Error ? error.message : String(error)).slice(0, 2000);
}
