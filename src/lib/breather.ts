/** For work in many small steps on bytes of others: lets the rest of the service go on in between. */
import { setImmediate } from "node:timers/promises";

const WORK_MS = 10;

export class Breather {
  #since = performance.now();

  /** Between two steps. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#since < WORK_MS) return;
    await setImmediate();
    this.#since = performance.now();
  }
}
