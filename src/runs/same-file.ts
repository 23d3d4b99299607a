/** Whether two attachments are one file that was seen through two sources (runs §11.2). Pure. */
import type { Attachment, AttachmentType } from "../domain/attachment.js";

export interface SeenFile {
  readonly type: AttachmentType;
  readonly source: Attachment["source"];
  readonly id: string | null;
  readonly url: string | null;
  /** Of the content, where it is known. */
  readonly sha256: string | null;
}

/**
 * The same file twice from one source stays two: each entry stands for one file of each source.
 * @param entries what each entry was seen as so far
 * @returns the index of the entry that is this file, or -1
 */
export function findSameFile(entries: readonly (readonly SeenFile[])[], file: SeenFile): number {
  return entries.findIndex(
    (entry) =>
      entry.every(({ source }) => source !== file.source) && entry.some((seen) => isSame(seen, file)),
  );
}

/** What both sides know decides: the id, else the address, else the content. */
function isSame(one: SeenFile, other: SeenFile): boolean {
  if (one.id !== null && other.id !== null) return one.id === other.id && one.type === other.type;
  if (one.url !== null && other.url !== null) return one.url === other.url;
  return one.sha256 !== null && one.sha256 === other.sha256;
}
