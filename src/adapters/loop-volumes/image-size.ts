/** How large an image must be, so that a box can write its whole quota into it. Pure. */
import type { VolumeSize } from "../../ports/quota-volumes.js";

const MIB = 1024 * 1024;
const INODE_BYTES = 256;
/** The kernel keeps up to 4096 blocks to itself, and the journal takes its part. */
export const JOURNAL_MIB = 4;
const KEPT_MIB = 16 + JOURNAL_MIB;
/** Group descriptors, bitmaps, and room for growing. */
const SHARE = 0.01;
const SMALLEST_MIB = 8;
/** The root, lost+found and what ext4 numbers for itself. */
export const OWN_ENTRIES = 16;

/** Bytes of the image: a whole number of MiB. */
export function imageBytes({ quotaMib, entries }: VolumeSize): number {
  const inodesMib = Math.ceil(((entries + OWN_ENTRIES) * INODE_BYTES) / MIB);
  return (Math.max(SMALLEST_MIB, Math.ceil(quotaMib * (1 + SHARE))) + inodesMib + KEPT_MIB) * MIB;
}

/** What `mkfs.ext4` is given; nothing of it depends on the machine's own defaults. */
export function formatArguments(image: string, { entries }: VolumeSize): readonly string[] {
  const inodes = `-I ${INODE_BYTES} -N ${entries + OWN_ENTRIES}`;
  const empty = `-J size=${JOURNAL_MIB} -E lazy_itable_init=1,lazy_journal_init=1`;
  return [...`-q -F -m 0 -b 4096 ${inodes} ${empty}`.split(" "), image];
}
