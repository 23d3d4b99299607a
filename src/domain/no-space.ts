/** What is said of a file for which a workspace had no room: limit, value seen, next step (box §1.5, §10.5). Pure. */
import { type BoxLimits, type DiskUse, MAX_ENTRIES, maxFileMib } from "./exec-outcome.js";

export interface NoSpaceFacts {
  /** Of the file that was to be written. */
  readonly sizeBytes: number;
  /** What the workspace holds; null where that is not known. */
  readonly use: DiskUse | null;
  readonly isHostFull: boolean;
  readonly limits: BoxLimits;
}

const MIB = 1024 * 1024;
/** A file system refuses a little before its last block. */
const MARGIN_BYTES = 4 * MIB;
const REMOVE = "Remove files that are not needed.";

/** Two sentences: what keeps the file out, and what to do. */
export function describeNoSpace({ sizeBytes, use, isHostFull, limits }: NoSpaceFacts): string {
  const { quotaMib, entries: maxEntries = MAX_ENTRIES } = limits;
  const size = showMib(sizeBytes);
  if (isHostFull)
    return `The disk of the machine is down to its reserve, so no box may grow${held(use, quotaMib)}. Try again when the operator has freed space.`;
  if (sizeBytes > maxFileMib(quotaMib) * MIB)
    return `One file may have ${maxFileMib(quotaMib)} MiB at most, and this one would have ${size}. Write less, or split it.`;
  if (quotaMib === 0) return `The workspace has no space left for ${size}. ${REMOVE}`;
  if (use === null)
    return `The workspace, whose quota is ${quotaMib} MiB, has no space left for ${size}. ${REMOVE}`;
  if (use.entries >= maxEntries)
    return `The workspace holds ${use.entries} files and directories, and the limit is ${maxEntries}. ${REMOVE}`;
  if (use.sizeBytes + sizeBytes + MARGIN_BYTES >= quotaMib * MIB)
    return `The workspace quota is ${quotaMib} MiB and ${showMib(use.sizeBytes)} are in use, which leaves no space for ${size}. ${REMOVE}`;
  return `The disk of the machine has no space left for ${size}${held(use, quotaMib)}. Try again when the operator has freed space.`;
}

function held(use: DiskUse | null, quotaMib: number): string {
  if (use === null) return "";
  const quota = quotaMib === 0 ? "" : ` of its quota of ${quotaMib} MiB`;
  return `, although the workspace holds only ${showMib(use.sizeBytes)}${quota}`;
}

function showMib(bytes: number): string {
  return bytes < MIB ? `${bytes} bytes` : `${Math.ceil(bytes / MIB)} MiB`;
}
