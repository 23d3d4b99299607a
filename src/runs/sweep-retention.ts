/** Lets go of what is older than the retention: attachments of ended runs first, then files and bytes without a record (box §9.7), and event records. */

import type { EventStore } from "../ports/event-store.js";
import type { CallOptions } from "../ports/options.js";
import type { RunStore } from "../ports/run-store.js";
import type { FileService } from "./file-service.js";

const STEP = 100;
const RELEASED = "Its bytes are no longer kept.";

export interface SweepDeps {
  readonly files: Pick<FileService, "removeExpired">;
  readonly runs: RunStore;
  readonly eventRecords: EventStore;
}

/** @param createdBefore Unix milliseconds. */
export async function sweepRetention(
  deps: SweepDeps,
  createdBefore: number,
  options: CallOptions,
): Promise<void> {
  for (;;) {
    options.signal.throwIfAborted();
    const released = await deps.runs.releaseAttachments(createdBefore, RELEASED, STEP);
    if (released.length < STEP) break;
  }
  await deps.files.removeExpired(createdBefore, options);
  for (;;) {
    options.signal.throwIfAborted();
    if ((await deps.eventRecords.removeOlderThan(createdBefore, STEP)) < STEP) break;
  }
}
