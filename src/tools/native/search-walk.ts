/** The walk below a directory that `glob` and `grep` share, and how they read a path pattern (box §13.3). */
import { setImmediate } from "node:timers/promises";
import type { FileEntry } from "../../domain/box.js";
import { isWithin, normaliseWorkspacePath } from "../../domain/workspace-path.js";
import { type CompiledGlob, compileGlob } from "../../lib/glob-pattern.js";
import type { BoxFiles } from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import { describeFault, pathOrRoot, resolveToolPath } from "../box-path.js";

const MAX_WALKED = 100_000;
const MAX_DEPTH = 256;
const MAX_PATTERN_CHARS = 1024;
/** Entries looked at before others get their turn. */
const BATCH = 2000;
/** Neither listed nor entered. `.home` holds installed packages: it is searched only where the path names it. */
export const SKIPPED_DIRECTORIES = [
  ".git",
  "node_modules",
  "__pycache__",
  ".venv",
  "venv",
  ".tox",
  "dist",
  "build",
  ".home",
] as const;

export type Walk =
  | {
      readonly ok: true;
      readonly base: string;
      readonly entries: readonly FileEntry[];
      readonly isCut: boolean;
    }
  | { readonly ok: false; readonly error: string };

/** Everything below a directory; entries whose path is not below it are not believed. */
export async function walkBelow(
  given: string | undefined,
  files: BoxFiles,
  options: CallOptions,
): Promise<Walk> {
  const resolved = resolveToolPath(pathOrRoot(given));
  if (!resolved.ok) return resolved;
  const base = resolved.path;
  const request = { path: base, depth: MAX_DEPTH, maxEntries: MAX_WALKED, skip: SKIPPED_DIRECTORIES };
  const listed = await files.list(request, options);
  if (!listed.ok) return { ok: false, error: describeFault(base, listed.fault) };
  const entries = await filterInTurns(
    listed.entries.slice(0, MAX_WALKED),
    ({ path }) => isBelow(base, path),
    options,
  );
  return { ok: true, base, entries, isCut: listed.truncated };
}

/** Filters a long list without holding up the service meanwhile. */
export async function filterInTurns(
  entries: readonly FileEntry[],
  isWanted: (entry: FileEntry) => boolean,
  { signal }: CallOptions,
): Promise<readonly FileEntry[]> {
  const wanted: FileEntry[] = [];
  for (let start = 0; start < entries.length; start += BATCH) {
    if (start > 0) await setImmediate(undefined, { signal });
    wanted.push(...entries.slice(start, start + BATCH).filter(isWanted));
  }
  return wanted;
}

function isBelow(base: string, path: string): boolean {
  const normalised = normaliseWorkspacePath(path);
  return path !== base && isWithin(base, path) && normalised.ok && normalised.path === path;
}

export type PathPattern =
  | { readonly ok: true; readonly matches: (relativePath: string) => boolean }
  | { readonly ok: false; readonly error: string };

/** Reads a pattern for paths below `base`; an absolute one must lie below it. */
export function readPathPattern(pattern: string, base: string): PathPattern {
  const relative = pattern.startsWith(`${base}/`)
    ? pattern.slice(base.length + 1)
    : pattern.replace(/^(\.\/+)+/, "");
  const name = JSON.stringify(pattern.slice(0, 200));
  if (relative === "") return { ok: false, error: "The pattern is empty." };
  if (relative.length > MAX_PATTERN_CHARS)
    return {
      ok: false,
      error: `The pattern has ${relative.length} characters, at most ${MAX_PATTERN_CHARS} are possible.`,
    };
  if (relative.startsWith("/") || relative.split("/").includes(".."))
    return {
      ok: false,
      error: `The pattern ${name} escapes ${base}: give the directory as path and the pattern below it.`,
    };
  return describeReason(name, compileGlob(relative));
}

function describeReason(name: string, glob: CompiledGlob): PathPattern {
  return glob.ok ? glob : { ok: false, error: `The pattern ${name} cannot be used: ${glob.reason}.` };
}
