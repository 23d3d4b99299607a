/** The right to use a box and to keep it awake, until it is disposed of (box §4.3, §4.9). */
import type { BoxSettings } from "../domain/box.js";
import type { SessionRecord } from "../domain/session.js";
import type { CleanupStack } from "../lib/cleanup-stack.js";
import type { BoxHandle, WriteAnswer, WriteRequest } from "../ports/box-handle.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";

/** What every lease holds; that of a person at work in the box holds nothing else. */
export interface HandLease extends AsyncDisposable {
  readonly session: SessionRecord;
  readonly handle: BoxHandle;
  /** What was lost since the session's last run, one sentence each; empty = nothing. */
  readonly notes: readonly string[];
  readonly settings: BoxSettings;
}

/** The bound box of one run. */
export interface BoxLease extends HandLease {
  /** Directories of this run, empty at the beginning. */
  readonly inbox: string;
  readonly outbox: string;
  /**
   * Creates files from outside in the workspace, also in one that the box itself can only read.
   * @throws ServiceError `box.conflict` where that needs the box for itself and others use it
   */
  readonly importFiles: (
    files: readonly WriteRequest[],
    options: CallOptions,
  ) => Promise<readonly WriteAnswer[]>;
}

export interface LeaseDeps {
  /** How each lease that is there at this moment is ended. */
  readonly leases: Set<() => Promise<void>>;
  readonly logger: Logger;
}

/** Gives `facts` the life of what was taken for them; what fails on release is logged, for nobody could mend it. */
export function makeLease<Facts extends Omit<HandLease, typeof Symbol.asyncDispose>>(
  deps: LeaseDeps,
  facts: Facts,
  taken: CleanupStack,
): Facts & AsyncDisposable {
  const release = async (): Promise<void> => {
    deps.leases.delete(release);
    try {
      await taken[Symbol.asyncDispose]();
    } catch (error) {
      deps.logger.warn({ sessionId: facts.session.id }, "A box was not released cleanly.", error);
    }
  };
  deps.leases.add(release);
  return { ...facts, [Symbol.asyncDispose]: release };
}
