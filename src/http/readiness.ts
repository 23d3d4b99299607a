/** Whether the service can do its work, part by part (api §7, box §16.5). */
import type { Clock } from "../ports/clock.js";
import type { CallOptions } from "../ports/options.js";

export interface PartReadiness {
  /** `store`, `boxes`, `models`, and `service` while it stops. */
  readonly name: string;
  readonly ok: boolean;
  /** What is wrong, or what else is worth knowing; never a host path. */
  readonly reason: string | null;
}

/** Asks every part; a part that fails is an entry, not an exception. */
export type ProbeParts = (options: CallOptions) => Promise<readonly PartReadiness[]>;

/** Milliseconds an answer stands: whoever asks often costs no more probes. */
const FRESH_MS = 2000;

/** One probe at a time, shared by all who ask meanwhile. */
export class Readiness {
  readonly #probe: ProbeParts;
  readonly #clock: Clock;
  #last: { readonly at: number; readonly answer: Promise<readonly PartReadiness[]> } | null = null;

  constructor(probe: ProbeParts, clock: Clock) {
    this.#probe = probe;
    this.#clock = clock;
  }

  async ask(): Promise<readonly PartReadiness[]> {
    const now = this.#clock.elapsed();
    if (this.#last !== null && now - this.#last.at < FRESH_MS) return this.#last.answer;
    // The probe outlives whoever asked first; every part has a time limit of its own.
    const answer = this.#probe({ signal: AbortSignal.timeout(10_000) });
    this.#last = { at: now, answer };
    return answer;
  }
}
