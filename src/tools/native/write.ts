/** `write`: makes, replaces or extends a file of the box (box §13.2). */
import { z } from "zod";
import type { BoxFiles, WriteRequest } from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import type { NativeTool, ToolEvent } from "../../ports/tool.js";
import { describeFault, describeRefusedWrite, resolveToolPath } from "../box-path.js";
import { defineTool, failure, success } from "../define-tool.js";
import { onePiece } from "../one-piece.js";
import { choice, text } from "../tool-input.js";
import { decodeContent } from "./write-content.js";

const inputSchema = z.object({
  path: text("File to write, below /workspace. Missing directories are made."),
  content: text("What to write."),
  encoding: choice(["text", "base64"], "How content is given. Default: text."),
  mode: choice(["overwrite", "append"], "Replace the file or add to its end. Default: overwrite."),
});

export const writeTool: NativeTool = defineTool({
  name: "write",
  description:
    "Write a file: replaces it, or adds to its end with mode append. Writing does not deliver a file.",
  input: inputSchema,
  effect: { kind: "box.files", access: "write", pathFields: ["path"] },
  needsWritableWorkspace: true,
  async *run({ input }, box, options) {
    const resolved = resolveToolPath(input.path);
    const content = decodeContent(input.content, input.encoding);
    if (!resolved.ok) yield failure(resolved.error);
    else if (!content.ok) yield failure(content.error);
    else
      yield await writeFile({ ...content, path: resolved.path, mode: input.mode }, box.handle.files, options);
  },
});

interface WritePlan {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mode: "overwrite" | "append";
}

async function writeFile(plan: WritePlan, files: BoxFiles, options: CallOptions): Promise<ToolEvent> {
  const chosen = plan.mode === "append" ? appendMode : await chooseMode(plan.path, files, options);
  if ("fault" in chosen) return failure(describeFault(plan.path, chosen.fault));
  const request = { path: plan.path, ...chosen, sizeBytes: plan.bytes.length, content: onePiece(plan.bytes) };
  const [answer] = await files.write([request], options);
  if (answer?.ok !== true) return failure(describeRefusedWrite(plan.path, answer));
  const size = plan.mode === "append" ? answer.entry.sizeBytes : plan.bytes.length;
  return success({ ok: true, path: plan.path, size, bytes_written: plan.bytes.length });
}

type ChosenMode =
  | Pick<WriteRequest, "mode" | "version">
  | { readonly fault: "not_regular" | "symlink_component" };

const appendMode: ChosenMode = { mode: "append" };

/** Binds the write to what the path is at this moment, so that a change made in between is noticed. */
async function chooseMode(path: string, files: BoxFiles, options: CallOptions): Promise<ChosenMode> {
  const [answer] = await files.stat([path], options);
  if (answer === undefined || !("entry" in answer)) return { mode: "create" };
  if (answer.entry.kind === "link") return { fault: "symlink_component" };
  if (answer.entry.kind !== "file") return { fault: "not_regular" };
  return { mode: "overwrite", version: answer.entry.version };
}
