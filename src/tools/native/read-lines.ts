/** Lines of a text file. The file is streamed once, so that all its lines can be counted (box §13.1). */
import type { FileEntry } from "../../domain/box.js";
import { Utf8Text } from "../../lib/utf8-text.js";
import type { BoxFiles } from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import type { ToolEvent } from "../../ports/tool.js";
import { describeFault } from "../box-path.js";
import { failure, success } from "../define-tool.js";
import { type BinaryType, detectBinary, SIGNATURE_BYTES } from "./file-signature.js";
import { type LineSelection, LineWindow, type LongLine } from "./line-window.js";
import { type ReadPlan, refuseBinary } from "./read-plan.js";
import { readPieces } from "./read-stream.js";

/** How far lines are counted. */
export const MAX_SCAN_BYTES = 64 * 1024 * 1024;
/** Pieces of a long line that are named. */
const MAX_NAMED_PIECES = 20;

/** @returns null where the path is no regular file */
export async function readLines(
  plan: ReadPlan,
  files: BoxFiles,
  options: CallOptions,
): Promise<ToolEvent | null> {
  const window = new LineWindow(plan);
  const start = new FileStart(plan.path);
  const sink = (bytes: Uint8Array): boolean => {
    window.push(bytes);
    return start.push(bytes);
  };
  const request = { path: plan.path, offset: 0, length: MAX_SCAN_BYTES };
  const reading = await readPieces(files, { request, sink }, options);
  if (!reading.ok && reading.fault === "not_regular") return null;
  if (!reading.ok) return failure(describeFault(plan.path, reading.fault));
  const binary = start.end();
  if (binary !== null) return refuseBinary(plan.path, reading.entry.sizeBytes, binary);
  return describeSelection(plan, reading.entry, window.finish());
}

function describeSelection(plan: ReadPlan, entry: FileEntry, selection: LineSelection): ToolEvent {
  const isWhole = entry.sizeBytes <= MAX_SCAN_BYTES;
  if (!isWhole && selection.truncatedBy === null) return failure(describeFarLines(plan, entry));
  if (plan.startLine > Math.max(selection.totalLines, 1)) return failure(describeEnd(plan, selection));
  const endLine = selection.longLine?.line ?? plan.startLine + selection.keptLines - 1;
  return success({
    ok: true,
    path: plan.path,
    ...describeContent(selection, plan.maxBytes),
    start_line: plan.startLine,
    end_line: endLine,
    next_offset: endLine < selection.totalLines ? endLine + 1 : null,
    total_lines: isWhole ? selection.totalLines : null,
    size_bytes: entry.sizeBytes,
    max_lines: plan.maxLines,
    max_bytes: plan.maxBytes,
    truncated: selection.truncatedBy !== null,
    truncated_by: selection.truncatedBy,
    ...(isWhole ? {} : { note: `Lines were counted in the first ${MAX_SCAN_BYTES} bytes only.` }),
  });
}

function describeContent(selection: LineSelection, maxBytes: number): Readonly<Record<string, unknown>> {
  if (selection.longLine !== null) {
    const byteOffsets = pieceOffsets(selection.longLine, maxBytes);
    return { content: describeLongLine(selection.longLine, maxBytes), byte_offsets: byteOffsets };
  }
  const reader = new Utf8Text();
  const content = reader.push(selection.bytes) + reader.end();
  return reader.isValid ? { content } : { content, invalid_utf8: true };
}

function describeEnd(plan: ReadPlan, selection: LineSelection): string {
  return `offset ${plan.startLine} is behind the end of ${JSON.stringify(plan.path)}: it has ${selection.totalLines} lines.`;
}

function describeFarLines(plan: ReadPlan, entry: FileEntry): string {
  return (
    `Line ${plan.startLine} of ${JSON.stringify(plan.path)} lies behind the first ${MAX_SCAN_BYTES} of ${entry.sizeBytes} bytes, ` +
    "and lines are counted no further. Use byte_offset, or exec with sed -n."
  );
}

function describeLongLine(long: LongLine, maxBytes: number): string {
  return (
    `[line ${long.line} has ${long.sizeBytes} bytes, more than max_bytes ${maxBytes}, and is not shown; ` +
    `read it in pieces with byte_offset ${pieceOffsets(long, maxBytes).join(", ")} and no offset]`
  );
}

function pieceOffsets(long: LongLine, maxBytes: number): readonly number[] {
  const pieces = Math.min(Math.ceil(long.sizeBytes / maxBytes), MAX_NAMED_PIECES);
  return Array.from({ length: pieces }, (_, i) => long.byteOffset + i * maxBytes);
}

/** Looks at the first bytes of a file as they come. */
class FileStart {
  readonly #path: string;
  #bytes = Buffer.alloc(0);
  #binary: BinaryType | null = null;
  #isKnown = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** @returns whether the file may still be text */
  push(bytes: Uint8Array): boolean {
    if (!this.#isKnown) {
      this.#bytes = Buffer.concat([this.#bytes, bytes.subarray(0, SIGNATURE_BYTES - this.#bytes.length)]);
      if (this.#bytes.length >= SIGNATURE_BYTES) this.#decide();
    }
    return this.#binary === null;
  }

  end(): BinaryType | null {
    if (!this.#isKnown) this.#decide();
    return this.#binary;
  }

  #decide(): void {
    this.#isKnown = true;
    this.#binary = detectBinary(this.#bytes, this.#path);
  }
}
