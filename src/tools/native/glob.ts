/** `glob`: finds files of the box by name, newest first (box §13). */
import { z } from "zod";
import type { FileEntry } from "../../domain/box.js";
import { windowText } from "../../lib/output-window.js";
import type { CallOptions } from "../../ports/options.js";
import type { NativeTool, ToolBox, ToolEvent } from "../../ports/tool.js";
import { defineTool, failure, success } from "../define-tool.js";
import { optionalText, text } from "../tool-input.js";
import { filterInTurns, readPathPattern, type Walk, walkBelow } from "./search-walk.js";

const MAX_MATCHES = 100;
const MAX_PREVIEW_BYTES = 50 * 1024;

const inputSchema = z.object({
  pattern: text(
    "Glob pattern below path, such as *.csv or **/*.py. A pattern that ends with / finds directories.",
  ),
  path: optionalText("Directory to search. Default: /workspace."),
});

export const globTool: NativeTool = defineTool({
  name: "glob",
  description:
    "Find files by name, newest first, at most 100. ** stands for any directories. Skips .git, node_modules, " +
    "__pycache__, virtual environments, dist, build and .home.",
  input: inputSchema,
  effect: { kind: "box.search", pathFields: ["path"] },
  async *run({ input }, box, options) {
    yield await findFiles(input, box, options);
  },
});

async function findFiles(
  input: z.output<typeof inputSchema>,
  box: ToolBox,
  options: CallOptions,
): Promise<ToolEvent> {
  const walk = await walkBelow(input.path, box.handle.files, options);
  if (!walk.ok) return failure(walk.error);
  const wantsDirectories = input.pattern.endsWith("/");
  const pattern = readPathPattern(input.pattern.replace(/\/+$/, ""), walk.base);
  if (!pattern.ok) return failure(pattern.error);
  const kind = wantsDirectories ? "directory" : "file";
  const candidates = walk.entries.filter((entry) => entry.kind === kind);
  const found = await filterInTurns(
    candidates,
    ({ path }) => pattern.matches(path.slice(walk.base.length + 1)),
    options,
  );
  return success(
    describeMatches(
      found.toSorted(newestFirst).map(({ path }) => path),
      walk,
    ),
  );
}

function newestFirst(a: FileEntry, b: FileEntry): number {
  return b.modifiedMs - a.modifiedMs || (a.path < b.path ? -1 : 1);
}

function describeMatches(
  paths: readonly string[],
  walk: Extract<Walk, { ok: true }>,
): Readonly<Record<string, unknown>> {
  const preview = windowText(
    paths.slice(0, MAX_MATCHES).join("\n"),
    { chars: MAX_PREVIEW_BYTES, bytes: MAX_PREVIEW_BYTES },
    ({ chars }) => `\n[... ${chars} characters left out ...]\n`,
  );
  const truncatedBy = findLimit(paths.length, walk.isCut, preview.truncatedBy !== null);
  return {
    ok: true,
    path: walk.base,
    matches: paths.slice(0, MAX_MATCHES),
    total: paths.length,
    preview: preview.text,
    truncated: truncatedBy !== null,
    truncated_by: truncatedBy,
  };
}

function findLimit(
  total: number,
  isWalkCut: boolean,
  isPreviewCut: boolean,
): "scan" | "matches" | "bytes" | null {
  if (isWalkCut) return "scan";
  if (total > MAX_MATCHES) return "matches";
  return isPreviewCut ? "bytes" : null;
}
