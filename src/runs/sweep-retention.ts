/** Removes what is older than the retention: files, bytes of attachments, and bytes that no record needs (box §9.7). */
import type { BlobStore } from "../ports/blob-store.js";
import type { FileStore } from "../ports/file-store.js";
import type { CallOptions } from "../ports/options.js";
import type { RunStore } from "../ports/run-store.js";
import type { FileService } from "./file-service.js";

const STEP = 100;
/** Milliseconds within which bytes that were written get their record. */
const REGISTERED_WITHIN_MS = 3_600_000;
const RELEASED = "Its bytes are no longer kept.";

export interface SweepDeps {
  readonly fileService: Pick<FileService, "removeExpired">;
  readonly files: FileStore;
  readonly blobs: BlobStore;
  readonly runs: RunStore;
}

/** @param now, retentionMs Milliseconds; Unix time and duration. */
export async function sweepRetention(
  deps: SweepDeps,
  { now, retentionMs }: { readonly now: number; readonly retentionMs: number },
  options: CallOptions,
): Promise<void> {
  const createdBefore = now - retentionMs;
  await releaseAttachments(deps.runs, createdBefore, options);
  await deps.fileService.removeExpired(createdBefore, options);
  const settledBefore = now - REGISTERED_WITHIN_MS;
  for await (const sha256 of deps.blobs.list(settledBefore, options))
    if (!(await deps.files.isReferenced(sha256))) await deps.blobs.remove(sha256, settledBefore);
}

async function releaseAttachments(
  runs: RunStore,
  createdBefore: number,
  { signal }: CallOptions,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const released = await runs.releaseAttachments(createdBefore, RELEASED, STEP);
    if (released.length < STEP) return;
  }
}
