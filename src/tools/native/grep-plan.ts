/** What `grep` searches for and in which files (box §13.4). Pure. */
import type { FileEntry } from "../../domain/box.js";
import type { Walk } from "./search-walk.js";

const MIB = 1024 * 1024;
const MAX_PATTERN_CHARS = 1024;
export const MAX_FILES = 5000;
export const MAX_FILE_BYTES = 10 * MIB;
export const MAX_TOTAL_BYTES = 50 * MIB;

export type Expression =
  | { readonly ok: true; readonly expression: RegExp }
  | { readonly ok: false; readonly error: string };

/** Reads the pattern with Unicode rules; one that is only valid without them is taken without. */
export function compileExpression(pattern: string): Expression {
  if (pattern === "") return { ok: false, error: "The pattern is empty." };
  if (pattern.length > MAX_PATTERN_CHARS)
    return {
      ok: false,
      error: `The pattern has ${pattern.length} characters, at most ${MAX_PATTERN_CHARS} are possible.`,
    };
  const strict = tryCompile(pattern, "u");
  if (strict instanceof RegExp) return { ok: true, expression: strict };
  const lenient = tryCompile(pattern, "");
  if (lenient instanceof RegExp) return { ok: true, expression: lenient };
  return { ok: false, error: `Invalid pattern: ${lenient.slice(0, 300)}.` };
}

/** @returns the expression, or why there is none */
function tryCompile(pattern: string, flags: string): RegExp | string {
  try {
    return new RegExp(pattern, flags);
  } catch (error) {
    return error instanceof Error
      ? error.message.replace(/^Invalid regular expression: /, "")
      : "it cannot be read";
  }
}

/** A file that was not searched, or not to its end. */
export interface SkippedFile {
  readonly file: string;
  readonly reason: string;
}

export interface Selection {
  readonly files: readonly FileEntry[];
  readonly skipped: readonly SkippedFile[];
  readonly isScanCut: boolean;
  readonly isBytesCut: boolean;
}

/** Takes files by path, hidden ones last, until the limits on number and size are reached. */
export function selectFiles(
  walk: Pick<Extract<Walk, { ok: true }>, "base" | "isCut">,
  matching: readonly FileEntry[],
): Selection {
  const candidates = matching.toSorted((a, b) => compareFiles(walk.base, a.path, b.path));
  const small = candidates.slice(0, MAX_FILES).filter((entry) => entry.sizeBytes <= MAX_FILE_BYTES);
  const large = candidates.slice(0, MAX_FILES).filter((entry) => entry.sizeBytes > MAX_FILE_BYTES);
  let totalBytes = 0;
  const files = small.filter((entry) => {
    totalBytes += entry.sizeBytes;
    return totalBytes <= MAX_TOTAL_BYTES;
  });
  return {
    files,
    skipped: large.map(({ path, sizeBytes }) => ({
      file: path,
      reason: `${sizeBytes} bytes, at most ${MAX_FILE_BYTES} are searched`,
    })),
    isScanCut: walk.isCut || candidates.length > MAX_FILES,
    isBytesCut: large.length > 0 || files.length < small.length,
  };
}

function compareFiles(base: string, a: string, b: string): number {
  const [aHidden, bHidden] = [isHidden(base, a), isHidden(base, b)];
  if (aHidden !== bHidden) return aHidden ? 1 : -1;
  return a < b ? -1 : Number(a > b);
}

function isHidden(base: string, path: string): boolean {
  return path.slice(base.length).includes("/.");
}
