/** Wakes readers of run events in this process; the store stays the truth (stack §11 data rule 5). */
import type { RunId } from "../domain/ids.js";
import type { CallOptions } from "./options.js";

export interface RunEvents {
  /** Says that the run has an event of this number. */
  notify(runId: RunId, sequence: number): void;
  /**
   * Resolves when the run may have an event above `sequence`, or rejects when the signal aborts. Never misses one that
   * was notified, before the call or after it; may resolve for nothing, so the caller reads the store in a loop.
   */
  waitBeyond(runId: RunId, sequence: number, options: CallOptions): Promise<void>;
}
