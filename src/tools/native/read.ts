/** `read`: lines of a text file, bytes of any file, or the entries of a directory (box §13.1). */
import { z } from "zod";
import type { CallOptions } from "../../ports/options.js";
import type { NativeTool, ToolBox, ToolEvent } from "../../ports/tool.js";
import { resolveToolPath } from "../box-path.js";
import { defineTool, failure } from "../define-tool.js";
import { choice, count, optionalNumber, text } from "../tool-input.js";
import { readBytes } from "./read-bytes.js";
import { readDirectory } from "./read-directory.js";
import { readLines } from "./read-lines.js";
import type { ReadPlan } from "./read-plan.js";
import { explainNoFile } from "./read-stream.js";

const MAX_LINES = 10_000;
const MAX_BYTES = 51_200;

const inputSchema = z.object({
  path: text("File or directory, below /workspace."),
  offset: optionalNumber("First line, from 1. Default: 1."),
  limit: count({ fallback: 2000, max: MAX_LINES }, `Lines. Default: 2000, at most ${MAX_LINES}.`),
  max_bytes: count(
    { fallback: MAX_BYTES, max: MAX_BYTES },
    `Bytes to return. Default and maximum: ${MAX_BYTES}.`,
  ),
  encoding: choice(["text", "base64"], "base64 gives exact bytes from byte_offset on. Default: text."),
  byte_offset: optionalNumber(
    "Where to begin, in bytes: for base64, or for pieces of a very long line. Default: 0.",
  ),
});

export const readTool: NativeTool = defineTool({
  name: "read",
  description:
    "Read a text file by lines, any file as base64, or list a directory. The result says where to go on when the file " +
    "is longer. Binary files are refused as text: extract their text with exec.",
  input: inputSchema,
  effect: { kind: "box.files", access: "read", pathFields: ["path"] },
  async *run(call, box, options) {
    const resolved = resolveToolPath(call.input.path);
    if (resolved.ok) yield await readPath(planRead(call.input, resolved.path), box, options);
    else yield failure(resolved.error);
  },
});

function planRead(
  input: z.output<typeof inputSchema>,
  path: string,
): ReadPlan & { readonly byBytes: boolean } {
  const byteOffset = Math.max(Math.floor(input.byte_offset ?? 0), 0);
  // A byte_offset of 0 beside a line offset is a default that was written out, no wish to read by bytes.
  const asksForBytes = byteOffset > 0 || (input.byte_offset !== undefined && input.offset === undefined);
  return {
    path,
    startLine: Math.max(Math.floor(input.offset ?? 1), 1),
    maxLines: input.limit,
    maxBytes: input.max_bytes,
    byteOffset,
    encoding: input.encoding,
    byBytes: input.encoding === "base64" || asksForBytes,
  };
}

async function readPath(
  plan: ReadPlan & { readonly byBytes: boolean },
  box: ToolBox,
  options: CallOptions,
): Promise<ToolEvent> {
  const { files } = box.handle;
  const answer = plan.byBytes ? await readBytes(plan, files, options) : await readLines(plan, files, options);
  const listed = answer ?? (await readDirectory(plan.path, files, options));
  return listed ?? failure(await explainNoFile(plan.path, files, options));
}
