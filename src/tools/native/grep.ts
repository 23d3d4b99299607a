/** `grep`: finds lines in text files of the box by a regular expression (box §13.4). */
import { z } from "zod";
import { prefixWithin } from "../../lib/code-points.js";
import type { CallOptions } from "../../ports/options.js";
import type { NativeTool, ToolBox, ToolEvent } from "../../ports/tool.js";
import { defineTool, failure, success } from "../define-tool.js";
import { optionalText, text } from "../tool-input.js";
import { compileExpression, type Selection, selectFiles } from "./grep-plan.js";
import { type FoundLine, type GrepFindings, type GrepTimes, searchFiles } from "./grep-search.js";
import { filterInTurns, readPathPattern, walkBelow } from "./search-walk.js";

const MAX_LINE_CHARS = 500;
const SUFFIX = " [... line cut]";
/** Skipped files that are named. */
const MAX_NAMED = 20;

const inputSchema = z.object({
  pattern: text("Regular expression (JavaScript), matched line by line, at most 1024 characters."),
  path: optionalText("Directory to search. Default: /workspace."),
  include: optionalText(
    "Glob pattern of the files to search, such as *.py or src/**/*.ts. Default: all text files.",
  ),
});
type GrepInput = z.output<typeof inputSchema>;

/** Time limits of box §13.4. */
export const GREP_TIMES: GrepTimes = { fileMs: 250, totalMs: 5000 };

export function createGrepTool(times: GrepTimes = GREP_TIMES): NativeTool {
  return defineTool({
    name: "grep",
    description:
      "Find lines in text files by a regular expression, at most 200. Skips binary files, .git, node_modules, " +
      "__pycache__, virtual environments, dist, build and .home.",
    input: inputSchema,
    effect: { kind: "box.search", pathFields: ["path"] },
    async *run({ input }, box, options) {
      yield await findLines({ ...input, times }, box, options);
    },
  });
}

async function findLines(
  input: GrepInput & { readonly times: GrepTimes },
  box: ToolBox,
  options: CallOptions,
): Promise<ToolEvent> {
  const compiled = compileExpression(input.pattern);
  if (!compiled.ok) return failure(compiled.error);
  const { files } = box.handle;
  const walk = await walkBelow(input.path, files, options);
  if (!walk.ok) return failure(walk.error);
  const included = readInclude(input.include, walk.base);
  if (!included.ok) return failure(included.error);
  const matching = await filterInTurns(
    walk.entries,
    ({ kind, path }) => kind === "file" && included.matches(path.slice(walk.base.length + 1)),
    options,
  );
  const selection = selectFiles(walk, matching);
  const source = { files, entries: selection.files, expression: compiled.expression, times: input.times };
  return describeFindings(await searchFiles(source, options), selection);
}

/** A pattern without a slash is about the name, wherever the file lies. */
function readInclude(include: string | undefined, base: string): ReturnType<typeof readPathPattern> {
  if (include === undefined || include === "") return { ok: true, matches: () => true };
  return readPathPattern(include.includes("/") ? include : `**/${include}`, base);
}

function describeFindings(findings: GrepFindings, selection: Selection): ToolEvent {
  const { found } = findings;
  const skipped = [...selection.skipped, ...findings.skipped];
  if (found.length === 0 && findings.isTimeCut) return failure(describeTimeout(findings));
  const truncatedBy = findLimit(findings, selection);
  return success({
    ok: true,
    matches: found.map(showLine),
    searched_files: findings.searchedFiles,
    binary_files_skipped: findings.binaryFiles,
    skipped: skipped.slice(0, MAX_NAMED),
    skipped_total: skipped.length,
    truncated: truncatedBy !== null,
    truncated_by: truncatedBy,
  });
}

function describeTimeout({ skipped, searchedFiles }: GrepFindings): string {
  const names = skipped.slice(0, MAX_NAMED).map(({ file }) => file);
  const where = names.length === 0 ? "" : ` in ${names.join(", ")}`;
  return `Regex search timed out${where}: nothing was found in ${searchedFiles} files. Use a simpler pattern or a smaller path.`;
}

type Limit = "matches" | "time" | "scan" | "bytes" | "line";

/** The limit that cost the most comes first. */
function findLimit(findings: GrepFindings, selection: Selection): Limit | null {
  if (findings.isMatchesCut) return "matches";
  if (findings.isTimeCut) return "time";
  if (selection.isScanCut) return "scan";
  if (selection.isBytesCut) return "bytes";
  return findings.isLineSkipped || findings.found.some(isLong) ? "line" : null;
}

function isLong({ start, isCut }: FoundLine): boolean {
  return isCut || shown(start).length < start.length;
}

function showLine(match: FoundLine): Readonly<Record<string, unknown>> {
  const content = isLong(match) ? `${shown(match.start)}${SUFFIX}` : match.start;
  return { file: match.file, line: match.line, content };
}

function shown(line: string): string {
  return prefixWithin(line, { chars: MAX_LINE_CHARS, bytes: Number.POSITIVE_INFINITY });
}
