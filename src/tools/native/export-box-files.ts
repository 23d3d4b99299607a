/** `export_box_files`: the one way for files out of the box (box §8). */
import { z } from "zod";
import type { ExportedFile, NativeTool } from "../../ports/tool.js";
import { defineTool, failure, success } from "../define-tool.js";

const inputSchema = z.object({
  paths: z
    // The export itself says what is wrong with an item, and with all the others at once.
    .array(z.unknown())
    .meta({
      items: { type: "string" },
      description: "Absolute paths of the files to deliver, below /workspace.",
    }),
});

export const exportBoxFilesTool: NativeTool = defineTool({
  name: "export_box_files",
  description:
    "Deliver files to the user: takes exactly these files out of the box and removes them there. All or none: one bad " +
    "path and nothing is delivered. Give absolute paths of files; directories must be packed first.",
  input: inputSchema,
  effect: { kind: "box.export", pathFields: ["paths"] },
  needsWritableWorkspace: true,
  async *run({ input }, box, options) {
    const answer = await box.exportFiles(input.paths, options);
    if (!answer.ok) yield failure(answer.error);
    else
      yield success({
        ok: true,
        files: answer.files,
        warnings: answer.warnings,
        message: describe(answer.files),
      });
  },
});

function describe(files: readonly ExportedFile[]): string {
  const registered = `${files.length} ${files.length === 1 ? "file is" : "files are"} registered for delivery to the user.`;
  const removed = files.every((file) => file.source_removed)
    ? "Their sources in the box are gone"
    : "Sources that could still be removed are gone from the box";
  return `${registered} ${removed}; do not export them again.`;
}
