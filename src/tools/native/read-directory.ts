/** The entries of a directory, for `read` (box §13.1). */
import type { FileEntry } from "../../domain/box.js";
import type { BoxFiles } from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import type { ToolEvent } from "../../ports/tool.js";
import { describeFault } from "../box-path.js";
import { failure, success } from "../define-tool.js";

const MAX_SHOWN = 10_000;
/** How far entries are counted. */
const MAX_COUNTED = 100_000;

/** @returns null where the path is no directory */
export async function readDirectory(
  path: string,
  files: BoxFiles,
  options: CallOptions,
): Promise<ToolEvent | null> {
  const listed = await files.list({ path, depth: 1, maxEntries: MAX_COUNTED, skip: [] }, options);
  if (!listed.ok) return listed.fault === "not_directory" ? null : failure(describeFault(path, listed.fault));
  const names = listed.entries.map((entry) => entryName(path, entry)).toSorted(byCodePoint);
  const isCut = names.length > MAX_SHOWN || listed.truncated;
  return success({
    ok: true,
    path,
    is_directory: true,
    entries: names.slice(0, MAX_SHOWN),
    total: names.length,
    truncated: isCut,
    truncated_by: listed.truncated ? "scan" : isCut ? "entries" : null,
  });
}

/** The name in the directory; directories end with a slash, links with what they are. */
function entryName(directory: string, entry: FileEntry): string {
  const name = entry.path.slice(directory.length + 1);
  if (entry.kind === "directory") return `${name}/`;
  return entry.kind === "file" ? name : `${name} (${entry.kind})`;
}

function byCodePoint(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
