/** Adds up what a workspace holds, from one walk of the helper; nothing of the list is kept. */
import { WORKSPACE_ROOT } from "../../domain/box.js";
import { ServiceError } from "../../domain/errors.js";
import { type DiskUse, MAX_ENTRIES } from "../../domain/exec-outcome.js";
import type { CallOptions } from "../../ports/options.js";
import { readListEnd, readListed } from "./answers.js";
import { type Connect, FileRequest } from "./file-request.js";
import { type BoxdFrame, helperFault } from "./frame-codec.js";
import { ASK, HEAR } from "./protocol.js";
import { askList } from "./questions.js";

const WALK = { path: WORKSPACE_ROOT, depth: Number.POSITIVE_INFINITY, skip: [] };

/**
 * A file with several names counts once. A walk that was cut counts as more entries than there may be.
 * @throws ServiceError `box.readiness` when the box does not show its workspace
 */
export async function measureWorkspace(
  connect: Connect,
  options: CallOptions & { readonly maxEntries?: number | undefined },
): Promise<DiskUse> {
  const { maxEntries = MAX_ENTRIES } = options;
  const body = askList({ ...WALK, maxEntries: maxEntries + 1 });
  using request = await FileRequest.begin(connect, { type: ASK.list, body }, options);
  const linked = new Set<string>();
  let sizeBytes = 0;
  let entries = 0;
  const add = (frame: BoxdFrame): { readonly isCut: boolean } | null => {
    if (frame.type === HEAR.listed) return { isCut: readListEnd(frame) };
    if (frame.type === HEAR.fault)
      throw new ServiceError("box.readiness", "The workspace cannot be measured.");
    if (frame.type !== HEAR.entries) throw helperFault("The box did not list its workspace.");
    for (const { kind, linkCount, sizeBytes: size, version } of readListed(WORKSPACE_ROOT, frame)) {
      entries += 1;
      if (kind === "file" && linkCount > 1 && isKnown(linked, version)) continue;
      sizeBytes += size;
    }
    return null;
  };
  for (;;) {
    const next = await request.next((frame) => ({ end: add(frame) }));
    if (next === null) throw request.lost();
    if (next.end !== null)
      return { sizeBytes, entries: next.end.isCut ? Math.max(entries, maxEntries + 1) : entries };
  }
}

/** The same file has the same version under all its names. */
function isKnown(linked: Set<string>, version: string): boolean {
  if (linked.has(version)) return true;
  linked.add(version);
  return false;
}
