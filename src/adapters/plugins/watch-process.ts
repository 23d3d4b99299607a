/** Looks after a package's process while it lives: signs of life from its main loop, and resident memory. */
import { readFile } from "node:fs/promises";

/** A process that misses so many in a row hangs; a service that is slow itself misses no ticks, so it blames nobody. */
export const SIGNS_PER_LIMIT = 4;
const MEMORY_EVERY_MS = 250;
const PAGE_BYTES = 4096;

export interface WatchedProcess {
  readonly pid: number;
  /** Milliseconds without a sign of life. */
  readonly hangMs: number;
  readonly memoryBytes: number;
  readonly onHang: () => void;
  readonly onMemory: () => void;
}

export class ProcessWatch implements Disposable {
  readonly #of: WatchedProcess;
  #missed = 0;
  #timers: readonly NodeJS.Timeout[] = [];

  constructor(of: WatchedProcess) {
    this.#of = of;
  }

  start(): void {
    this.#timers = [
      setInterval(() => this.#count(), this.#of.hangMs / SIGNS_PER_LIMIT),
      setInterval(() => void this.#weigh(), MEMORY_EVERY_MS),
    ];
  }

  /** The process lives. */
  sign(): void {
    this.#missed = 0;
  }

  #count(): void {
    this.#missed += 1;
    if (this.#missed > SIGNS_PER_LIMIT) this.#of.onHang();
  }

  /** Where the system does not tell, the limit of the heap stands alone. */
  async #weigh(): Promise<void> {
    const pages = await readFile(`/proc/${this.#of.pid}/statm`, "utf8").then(
      (text) => Number(text.split(" ")[1]),
      () => 0,
    );
    if (pages * PAGE_BYTES > this.#of.memoryBytes && this.#timers.length > 0) this.#of.onMemory();
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
  }
}
