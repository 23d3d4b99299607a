/**
 * A regular expression in a thread of its own: it can be ended while it runs, and never holds up the service (box §13.4).
 * The program of the thread is text, so that it is the same from TypeScript sources and from the built service.
 */
import { on } from "node:events";
import { Worker } from "node:worker_threads";
import { z } from "zod";
import { linkSignals } from "../../lib/link-signals.js";
import { TimeLimit } from "../../lib/time-limit.js";

const PROGRAM = `
"use strict";
const { parentPort, workerData } = require("node:worker_threads");
const expression = new RegExp(workerData.source, workerData.flags);
parentPort.on("message", ({ bytes, maxMatches }) => {
  const text = Buffer.from(bytes).toString("utf8");
  parentPort.postMessage({ type: "begun" });
  let matches = 0;
  let longLines = 0;
  let number = 0;
  try {
    for (let start = 0; start < text.length && matches < maxMatches; number += 1) {
      const end = text.indexOf("\\n", start);
      const next = end === -1 ? text.length : end;
      const line = text.slice(start, text[next - 1] === "\\r" && next > start ? next - 1 : next);
      start = next + 1;
      if (line.length > workerData.maxLineChars) longLines += 1;
      else if (expression.test(line)) {
        matches += 1;
        const shown = line.slice(0, workerData.maxShownUnits);
        const match = { line: number + 1, start: shown, isCut: shown.length < line.length };
        parentPort.postMessage({ type: "match", match });
      }
    }
    parentPort.postMessage({ type: "ended", longLines });
  } catch (error) {
    parentPort.postMessage({ type: "failed" });
  }
});
`;

/** Lines above this are skipped. */
export const MAX_LINE_CHARS = 1024 * 1024;
const MEMORY_MB = 256;

const messageSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("begun") }),
  z.object({
    type: z.literal("match"),
    match: z.object({ line: z.number(), start: z.string(), isCut: z.boolean() }),
  }),
  z.object({ type: z.literal("ended"), longLines: z.number() }),
  z.object({ type: z.literal("failed") }),
]);

export interface LineMatch {
  /** From 1. */
  readonly line: number;
  /** The beginning of the line. */
  readonly start: string;
  readonly isCut: boolean;
}

export interface SearchLimits {
  readonly maxMatches: number;
  /** Milliseconds for the expression; reading the lines does not count. */
  readonly timeoutMs: number;
  /** Ends the search at once, as if its own time had run out. */
  readonly signal: AbortSignal;
}

/** `matches` holds what was found before the end, whatever ended it. */
export interface FileSearch {
  readonly matches: readonly LineMatch[];
  readonly end: "all" | "time" | "failed";
  readonly longLines: number;
}

export class RegexWorker implements AsyncDisposable {
  readonly #expression: RegExp;
  readonly #maxShownUnits: number;
  #worker: Worker | null = null;

  /** @param maxShownUnits UTF-16 units of a matching line that are given back */
  constructor(expression: RegExp, maxShownUnits: number) {
    this.#expression = expression;
    this.#maxShownUnits = maxShownUnits;
  }

  /** Searches one file; its bytes are given away. One search at a time. */
  async search(bytes: Uint8Array<ArrayBuffer>, limits: SearchLimits): Promise<FileSearch> {
    if (limits.signal.aborted) return { matches: [], end: "time", longLines: 0 };
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const answer = await follow(worker, limits, () => {
      worker.postMessage({ bytes, maxMatches: limits.maxMatches }, [bytes.buffer]);
    });
    if (answer.end !== "all") await this.#stop();
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, {
      eval: true,
      // Nothing of the service: neither its environment nor its loaders.
      env: {},
      execArgv: [],
      workerData: {
        source: this.#expression.source,
        flags: this.#expression.flags,
        maxLineChars: MAX_LINE_CHARS,
        maxShownUnits: this.#maxShownUnits,
      },
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    // The search that runs hears of it; without any listener a dying thread would end the service.
    return worker.on("error", () => undefined);
  }

  async #stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }
}

/** Collects what the thread says until it ends, fails, or a limit strikes. */
async function follow(worker: Worker, limits: SearchLimits, begin: () => void): Promise<FileSearch> {
  const matches: LineMatch[] = [];
  using limit = new TimeLimit(() => new Error("The expression took too long."));
  using linked = linkSignals(limits.signal, limit.signal);
  const messages = on(worker, "message", { signal: linked.signal, close: ["exit"] });
  begin();
  try {
    for await (const [message] of messages) {
      const said = messageSchema.parse(message);
      if (said.type === "begun") limit.restart(limits.timeoutMs);
      else if (said.type === "match") matches.push(said.match);
      else if (said.type === "ended") return { matches, end: "all", longLines: said.longLines };
      else break;
    }
    return { matches, end: "failed", longLines: 0 };
  } catch {
    // The limit struck, or the thread died, of too much memory for one.
    return { matches, end: linked.signal.aborted ? "time" : "failed", longLines: 0 };
  }
}
