/** The runs that this process works on, each with its own signal, credit and host calls. */
import { setMaxListeners } from "node:events";
import { Host } from "./host.mjs";
import { HostCalls } from "./host-calls.mjs";

export class Runs {
  #channel;
  #plugin;
  /** @type {Map<string, ActiveRun>} */
  #active = new Map();
  #calls;

  /**
   * @param {import("./channel.mjs").Channel} channel
   * @param {import("./load-plugin.mjs").Plugin} plugin
   */
  constructor(channel, plugin) {
    this.#channel = channel;
    this.#plugin = plugin;
    this.#calls = new HostCalls(channel);
  }

  /**
   * @param {import("../frames.js").HostFrame} frame
   * @returns {boolean} whether it was about a run
   */
  take(frame) {
    switch (frame.type) {
      case "run":
        void this.#execute(frame);
        return true;
      case "more":
        this.#active.get(frame.run_id)?.addCredit(frame.count);
        return true;
      case "cancel":
        this.#active.get(frame.run_id)?.stop(frame.reason);
        return true;
      case "forget":
        this.#active.get(frame.run_id)?.forget();
        return true;
      default:
        return this.#calls.take(frame);
    }
  }

  /** @param {{ run_id: string, runner: string, context: unknown, credit: number }} frame */
  async #execute({ run_id, runner, context, credit }) {
    const run = new ActiveRun(credit);
    this.#active.set(run_id, run);
    const { signal } = run;
    try {
      const start = this.#plugin.runners[runner];
      if (typeof start !== "function") throw new TypeError(`The package has no runner "${runner}".`);
      const host = new Host(run_id, this.#calls, signal);
      for await (const item of start(context, host, { signal })) {
        if (!(await run.takeCredit())) return;
        await this.#channel.send({ type: "result", run_id, result: withRunId(item, run_id) });
      }
      await this.#channel.send({ type: "ended", run_id });
    } catch (error) {
      await this.#channel.send({ type: "failed", run_id, error: describe(error) });
    } finally {
      run.stop("The run has ended.");
      this.#active.delete(run_id);
    }
  }
}

class ActiveRun {
  #controller = new AbortController();
  #credit;
  #isForgotten = false;
  /** @type {(() => void) | null} */
  #wake = null;

  /** @param {number} credit results that may be on their way */
  constructor(credit) {
    this.#credit = credit;
    // Every host call of the run listens while it lasts.
    setMaxListeners(0, this.#controller.signal);
  }

  get signal() {
    return this.#controller.signal;
  }

  /** @param {number} count */
  addCredit(count) {
    this.#credit += count;
    this.#wake?.();
  }

  /** @returns whether somebody still reads the results */
  async takeCredit() {
    while (this.#credit === 0 && !this.#isForgotten)
      await new Promise((resolve) => {
        this.#wake = () => resolve(undefined);
      });
    this.#credit -= 1;
    return !this.#isForgotten;
  }

  forget() {
    this.#isForgotten = true;
    this.stop("Nobody waits for the run.");
    this.#wake?.();
  }

  /** @param {string} reason */
  stop(reason) {
    this.#controller.abort(new DOMException(reason, "AbortError"));
  }
}

/**
 * @param {unknown} item
 * @param {string} runId
 */
function withRunId(item, runId) {
  return typeof item === "object" && item !== null ? { run_id: runId, ...item } : item;
}

/** @param {unknown} error @returns {string} for the operator's log */
export function describe(error) {
  return (error instanceof Error ? (error.stack ?? error.message) : String(error)).slice(0, 8000);
}
