/** Reads one file of the box piece by piece; the box's answer is bounded here and not believed further. */
import type { FileEntry, FileFault } from "../../domain/box.js";
import type { BoxFiles, ReadRequest } from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import { describeFault } from "../box-path.js";

export type FileReading =
  | { readonly ok: true; readonly entry: FileEntry }
  | { readonly ok: false; readonly fault: FileFault };

/** Takes a piece. @returns false to read no further */
export type PieceSink = (bytes: Uint8Array) => boolean;

/** @returns the entry when the file was read as asked or the sink had enough; the fault when it could not be read */
export async function readPieces(
  files: BoxFiles,
  source: { readonly request: ReadRequest; readonly sink: PieceSink },
  options: CallOptions,
): Promise<FileReading> {
  let entry: FileEntry | null = null;
  let room = source.request.length;
  for await (const event of files.read([source.request], options)) {
    if (event.type === "fault") return { ok: false, fault: event.fault };
    if (event.type === "entry") entry = event.entry;
    if (event.type === "end") break;
    if (event.type !== "bytes") continue;
    const piece = event.bytes.subarray(0, room);
    room -= piece.length;
    if (piece.length > 0 && !source.sink(piece)) break;
  }
  return entry === null ? { ok: false, fault: "unreadable" } : { ok: true, entry };
}

/** What is wrong with a path that is no regular file: a link at its end is a way out of the boundary (box §6.3). */
export async function explainNoFile(path: string, files: BoxFiles, options: CallOptions): Promise<string> {
  const [answer] = await files.stat([path], options);
  const isLink = answer !== undefined && "entry" in answer && answer.entry.kind === "link";
  return describeFault(path, isLink ? "symlink_component" : "not_regular");
}
