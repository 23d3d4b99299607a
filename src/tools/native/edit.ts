/** `edit`: replaces a text that occurs exactly once in a file of the box (box §13.2). */
import { z } from "zod";
import type { FileEntry } from "../../domain/box.js";
import type { BoxFiles } from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import type { NativeTool, ToolEvent } from "../../ports/tool.js";
import { describeFault, describeRefusedWrite, resolveToolPath } from "../box-path.js";
import { defineTool, failure, success } from "../define-tool.js";
import { onePiece } from "../one-piece.js";
import { text } from "../tool-input.js";
import { explainNoFile, readPieces } from "./read-stream.js";
import { MAX_EDIT_BYTES, replaceOnce } from "./replace-once.js";

const inputSchema = z.object({
  path: text("File to change, below /workspace, at most 1 MiB."),
  old_string: text("Text to replace, exactly as it stands in the file. It must occur exactly once."),
  new_string: text("Text to put in its place."),
});
type EditInput = z.output<typeof inputSchema>;

export const editTool: NativeTool = defineTool({
  name: "edit",
  description:
    "Replace one text in a file by another. The text must occur exactly once: give enough of what stands around it.",
  input: inputSchema,
  effect: { kind: "box.files", access: "write", pathFields: ["path"] },
  needsWritableWorkspace: true,
  async *run({ input }, box, options) {
    const resolved = resolveToolPath(input.path);
    if (resolved.ok) yield await editFile({ ...input, path: resolved.path }, box.handle.files, options);
    else yield failure(resolved.error);
  },
});

async function editFile(input: EditInput, files: BoxFiles, options: CallOptions): Promise<ToolEvent> {
  const file = await readWhole(input.path, files, options);
  if (!file.ok) return failure(file.error);
  const edit = { path: input.path, oldText: input.old_string, newText: input.new_string };
  const replaced = replaceOnce(file.bytes, edit);
  if (!replaced.ok) return failure(replaced.error);
  const request = {
    path: input.path,
    mode: "overwrite" as const,
    version: file.entry.version,
    sizeBytes: replaced.bytes.length,
    content: onePiece(replaced.bytes),
  };
  const [answer] = await files.write([request], options);
  if (answer?.ok !== true) return failure(describeRefusedWrite(input.path, answer));
  return success({ ok: true, path: input.path, size: replaced.bytes.length, line: replaced.line });
}

type WholeFile =
  | { readonly ok: true; readonly bytes: Buffer; readonly entry: FileEntry }
  | { readonly ok: false; readonly error: string };

async function readWhole(path: string, files: BoxFiles, options: CallOptions): Promise<WholeFile> {
  const pieces: Uint8Array[] = [];
  const sink = (bytes: Uint8Array): boolean => pieces.push(bytes) > 0;
  const request = { path, offset: 0, length: MAX_EDIT_BYTES + 1 };
  const reading = await readPieces(files, { request, sink }, options);
  if (!reading.ok && reading.fault === "not_regular")
    return { ok: false, error: await explainNoFile(path, files, options) };
  if (!reading.ok) return { ok: false, error: describeFault(path, reading.fault) };
  const bytes = Buffer.concat(pieces);
  if (bytes.length <= MAX_EDIT_BYTES) return { ok: true, bytes, entry: reading.entry };
  const sizeBytes = Math.max(reading.entry.sizeBytes, bytes.length);
  return {
    ok: false,
    error: `${JSON.stringify(path)} has ${sizeBytes} bytes; edit takes at most ${MAX_EDIT_BYTES}. Use exec with sed or python3.`,
  };
}
