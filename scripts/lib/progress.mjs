/** Progress that reads the same on a terminal and in the log of a CI job: lines, no cursor movement. */

const HEARTBEAT_MS = 15_000;

/** @param {string} line */
export function say(line) {
  process.stdout.write(`${line}\n`);
}

/** @param {number} sinceMs a value of Date.now() */
export function elapsed(sinceMs) {
  const seconds = (Date.now() - sinceMs) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  return seconds < 60
    ? `${Math.round(seconds)} s`
    : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** Counts the steps of one job. */
export class Progress {
  #done = 0;
  #total;

  /** @param {number} total */
  constructor(total) {
    this.#total = total;
  }

  /**
   * Does one step; while it lasts, a line now and then shows that it lives and what it is at.
   * @template T
   * @param {string} title
   * @param {(report: (detail: string) => void) => Promise<T>} work
   * @returns {Promise<T>}
   */
  async step(title, work) {
    this.#done += 1;
    const label = `[${this.#done}/${this.#total}]`;
    const startedAt = Date.now();
    let detail = "";
    say(`${label} ${title}`);
    const heartbeat = setInterval(() => say(`${label}   ${elapsed(startedAt)} … ${detail}`), HEARTBEAT_MS);
    try {
      const result = await work((text) => {
        detail = text.trim().slice(0, 90);
      });
      say(`${label}   done in ${elapsed(startedAt)}`);
      return result;
    } finally {
      clearInterval(heartbeat);
    }
  }
}
