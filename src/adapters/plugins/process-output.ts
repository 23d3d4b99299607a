/** What the process of a package prints: never protocol, kept for its operator within bounds. */
import type { Readable } from "node:stream";
import type { Logger } from "../../ports/logger.js";

/** Characters of the last output that are kept to explain an end. */
const KEPT_CHARS = 4000;
const MAX_LINE_CHARS = 500;
/** Lines of one process that are logged in one second. */
const LINES_PER_SEC = 20;

export class ProcessOutput {
  readonly #package: string;
  readonly #logger: Logger;
  readonly #elapsed: () => number;
  #tail = "";
  #second = 0;
  #lines = 0;

  constructor(deps: { readonly packageId: string; readonly logger: Logger; readonly elapsed: () => number }) {
    this.#package = deps.packageId;
    this.#logger = deps.logger;
    this.#elapsed = deps.elapsed;
  }

  /** What was printed last. */
  get tail(): string {
    return this.#tail.trim();
  }

  follow(stream: Readable): void {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => this.#take(text)).on("error", () => undefined);
  }

  #take(text: string): void {
    this.#tail = (this.#tail + text.slice(-KEPT_CHARS)).slice(-KEPT_CHARS);
    const second = Math.floor(this.#elapsed() / 1000);
    if (second !== this.#second) this.#lines = 0;
    this.#second = second;
    for (const line of text.slice(0, MAX_LINE_CHARS * LINES_PER_SEC).split("\n")) {
      if (line.trim() === "" || this.#lines >= LINES_PER_SEC) continue;
      this.#lines += 1;
      this.#logger.debug({ package: this.#package }, `A package printed: ${line.slice(0, MAX_LINE_CHARS)}`);
    }
  }
}
