/** The time of this machine. */
import type { Clock } from "../../ports/clock.js";

export class SystemClock implements Clock {
  now(): number {
    return Date.now();
  }

  elapsed(): number {
    return performance.now();
  }
}
