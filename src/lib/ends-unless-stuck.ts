/** Waits for an end that somebody may have made impossible. */
import { endsWithin } from "./delay.js";

export interface Patience {
  /** Waits at most so long, without the time that the looks take. */
  readonly limitMs: number;
  /** Looks whenever so much of it has passed. */
  readonly lookMs: number;
  /** Whether waiting is in vain. Never rejects. */
  readonly isStuck: () => Promise<boolean>;
}

/** @returns whether the work has ended, well or not; it goes on otherwise */
export async function endsUnlessStuck(
  work: Promise<unknown>,
  { limitMs, lookMs, isStuck }: Patience,
): Promise<boolean> {
  for (let leftMs = limitMs; leftMs > 0; leftMs -= lookMs) {
    if (await endsWithin(work, Math.min(lookMs, leftMs))) return true;
    if (leftMs > lookMs && (await isStuck())) return false;
  }
  return false;
}
