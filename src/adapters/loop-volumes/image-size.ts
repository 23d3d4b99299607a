/** How large an image must be, so that a box can write its whole quota into it. Pure. */
import type { VolumeSize } from "../../ports/quota-volumes.js";

const MIB = 1024 * 1024;
const INODE_BYTES = 256;
const JOURNAL_MIB = 4;
/** The kernel keeps a part to itself, up to a limit. */
const KEPT_SHARE = 0.02;
const MOST_KEPT_MIB = 16;
/** Group descriptors and bitmaps. */
const OWN_SHARE = 0.005;
const SMALLEST_MIB = 8;
/** With less room than this, writing fails sooner or later: a file system with so little left is full. */
export const FULL_MIB = 2;
/** The root, lost+found and what ext4 numbers for itself. */
export const OWN_ENTRIES = 16;

/** Bytes of the image: a whole number of MiB. */
export function imageBytes({ quotaMib, entries }: VolumeSize): number {
  const inodesMib = ((entries + OWN_ENTRIES) * INODE_BYTES) / MIB;
  const filesMib = Math.max(SMALLEST_MIB, quotaMib) + FULL_MIB + inodesMib + JOURNAL_MIB;
  const keptMib = Math.min(MOST_KEPT_MIB, filesMib * KEPT_SHARE);
  return Math.ceil(filesMib * (1 + OWN_SHARE) + keptMib) * MIB;
}

/** What `mkfs.ext4` is given; nothing of it depends on the machine's own defaults. */
export function formatArguments(image: string, { entries }: VolumeSize): readonly string[] {
  const inodes = `-I ${INODE_BYTES} -N ${entries + OWN_ENTRIES}`;
  const empty = `-J size=${JOURNAL_MIB} -E lazy_itable_init=1,lazy_journal_init=1`;
  return [...`-q -F -m 0 -b 4096 ${inodes} ${empty}`.split(" "), image];
}
