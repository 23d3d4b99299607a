/** Keeps the end of what a program writes to standard error, for the log. */

const KEPT_BYTES = 4096;
const MAX_LINE_CHARS = 300;

export class LastWords {
  #kept = Buffer.alloc(0);

  add(bytes: Uint8Array): void {
    this.#kept = Buffer.concat([this.#kept, bytes]).subarray(-KEPT_BYTES);
  }

  /** The last line that says anything; empty when there is none. */
  line(): string {
    const lines = this.#kept.toString("utf8").split("\n");
    return (lines.findLast((line) => line.trim() !== "") ?? "").trim().slice(0, MAX_LINE_CHARS);
  }
}
