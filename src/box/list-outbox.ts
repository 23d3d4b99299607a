/** What a run left in its outbox: it informs only, nothing is sent because of it (box §9.8). */
import type { OutboxEntry } from "../domain/run.js";
import type { BoxFiles } from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";
import { isPlainBelow } from "./workspace-files.js";

/** Entries the box walks, and entries that are told. */
const MAX_LISTED = 1000;
const MAX_TOLD = 50;
const MAX_DEPTH = 32;

/** @returns path and bytes of at most 50 files, in order of path; none when the outbox cannot be listed */
export async function listOutbox(
  files: BoxFiles,
  outbox: string,
  options: CallOptions,
): Promise<readonly OutboxEntry[]> {
  const request = { path: outbox, depth: MAX_DEPTH, maxEntries: MAX_LISTED, skip: [] };
  const listed = await files.list(request, options);
  if (!listed.ok) return [];
  return listed.entries
    .slice(0, MAX_LISTED)
    .filter(
      ({ kind, path, sizeBytes }) => kind !== "directory" && isPlainBelow(path, outbox) && sizeBytes >= 0,
    )
    .map(({ path, sizeBytes }) => ({ path, bytes: sizeBytes }))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
    .slice(0, MAX_TOLD);
}
