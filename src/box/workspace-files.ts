/** Files of a workspace for people and clients: list, read, write and remove by path, with faults as errors (api §4, box §6). */

import type { FileEntry, FileKind } from "../domain/box.js";
import { WORKSPACE_ROOT } from "../domain/box.js";
import { ServiceError } from "../domain/errors.js";
import { isWithin, normaliseWorkspacePath } from "../domain/workspace-path.js";
import type { BoxFiles } from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";
import { fileFaultError, refusedWriteError } from "./file-fault-error.js";

/** Entries that one listing tells. */
export const MAX_LISTED = 1000;
/** Milliseconds of the largest time that has a text. */
const MAX_TIME_MS = 8_640_000_000_000_000;

/** An entry as clients see it. */
export interface WorkspaceEntry {
  readonly path: string;
  readonly kind: FileKind;
  readonly bytes: number;
  /** RFC 3339 UTC. */
  readonly modified_at: string;
}

export interface WorkspaceListing {
  /** In order of path. */
  readonly entries: readonly WorkspaceEntry[];
  /** There are more than are listed. */
  readonly truncated: boolean;
}

/** A file that was looked at and can be read as it was then. */
export interface WorkspaceFile {
  readonly sizeBytes: number;
  /** Equal only while the file has the same content; opaque. */
  readonly version: string;
  /**
   * Exactly the bytes of the range, both ends included; null = all.
   * @throws ServiceError `box.conflict` when the file is another one meanwhile, `file.not_found` when it is gone
   */
  read(
    range: { readonly start: number; readonly end: number } | null,
    options: CallOptions,
  ): AsyncIterable<Uint8Array>;
}

/**
 * @returns the path without `.`, `..` and a slash at the end; relative ones are taken from /workspace
 * @throws ServiceError `box.validation` for a path that leaves the workspace ("escapes") or is none
 */
export function readWorkspacePath(path: string): string {
  const normal = normaliseWorkspacePath(path);
  if (normal.ok) return normal.path;
  throw fileFaultError(path, normal.fault);
}

/** @param request depth 1 = the directory's own entries; links are listed and never followed */
export async function listWorkspace(
  files: BoxFiles,
  request: { readonly path: string; readonly depth: number },
  options: CallOptions,
): Promise<WorkspaceListing> {
  const { path, depth } = request;
  const listed = await files.list({ path, depth, maxEntries: MAX_LISTED, skip: [] }, options);
  if (!listed.ok) throw fileFaultError(path, listed.fault);
  const entries = listed.entries
    .slice(0, MAX_LISTED)
    .filter((entry) => isPlainBelow(entry.path, path))
    .map(toWorkspaceEntry)
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  return { entries, truncated: listed.truncated || listed.entries.length > MAX_LISTED };
}

/** The box names its entries itself: only plain paths below the directory are believed. */
export function isPlainBelow(path: string, directory: string): boolean {
  const normal = normaliseWorkspacePath(path);
  return normal.ok && normal.path === path && path !== directory && isWithin(directory, path);
}

/** @throws ServiceError `file.not_found`, `box.validation` for what is no regular file or cannot be read */
export async function openWorkspaceFile(
  files: BoxFiles,
  path: string,
  options: CallOptions,
): Promise<WorkspaceFile> {
  const [answer] = await files.stat([path], options);
  if (answer === undefined) throw noAnswer();
  if ("fault" in answer) throw fileFaultError(path, answer.fault);
  const { kind, readable, sizeBytes, version } = answer.entry;
  if (kind !== "file") throw fileFaultError(path, "not_regular");
  if (!readable) throw fileFaultError(path, "unreadable");
  return {
    sizeBytes,
    version,
    read: (range, call) => {
      const { start, end } = range ?? { start: 0, end: sizeBytes - 1 };
      return readExactly(files, { path, version, offset: start, length: end - start + 1 }, call);
    },
  };
}

/** What the box sends is counted: nothing beyond the announced bytes goes out, and too few are a failure. */
async function* readExactly(
  files: BoxFiles,
  request: {
    readonly path: string;
    readonly version: string;
    readonly offset: number;
    readonly length: number;
  },
  options: CallOptions,
): AsyncGenerator<Uint8Array, void> {
  let left = request.length;
  for await (const event of files.read([request], options)) {
    if (event.type === "fault") throw fileFaultError(request.path, event.fault);
    if (event.type !== "bytes") continue;
    left -= event.bytes.length;
    if (left < 0) break;
    yield event.bytes;
  }
  if (left !== 0) throw fileFaultError(request.path, "changed");
}

/**
 * Writes the whole file at once, through a temporary one; parents are made.
 * @param sizeBytes exactly the length of `content`
 */
export async function writeWorkspaceFile(
  files: BoxFiles,
  request: {
    readonly path: string;
    readonly sizeBytes: number;
    readonly content: AsyncIterable<Uint8Array>;
  },
  options: CallOptions,
): Promise<WorkspaceEntry> {
  const { path } = request;
  if (path === WORKSPACE_ROOT) throw fileFaultError(path, "not_regular");
  const [answer] = await files.write([{ ...request, mode: "overwrite" }], options);
  if (answer === undefined) throw noAnswer();
  if (!answer.ok) throw refusedWriteError(path, answer);
  return toWorkspaceEntry({ ...answer.entry, path, sizeBytes: request.sizeBytes });
}

/** Removes one file, of a link the link; a directory only as a whole, when `recursive`. */
export async function removeWorkspaceFile(
  files: BoxFiles,
  target: { readonly path: string; readonly recursive: boolean },
  options: CallOptions,
): Promise<void> {
  if (target.path === WORKSPACE_ROOT) throw fileFaultError(target.path, "denied");
  const [answer] = await files.remove([target], options);
  if (answer === undefined) throw noAnswer();
  if (answer.ok) return;
  const fault = answer.fault ?? "denied";
  const { code, message, param, details } = fileFaultError(target.path, fault);
  const hint =
    fault === "not_regular" ? "A directory is removed with all in it by recursive=true." : undefined;
  throw new ServiceError(code, message, { param, details, hint });
}

function toWorkspaceEntry({ path, kind, sizeBytes, modifiedMs }: FileEntry): WorkspaceEntry {
  const isTime = Math.abs(modifiedMs) <= MAX_TIME_MS;
  return {
    path,
    kind,
    bytes: Math.max(0, sizeBytes),
    modified_at: new Date(isTime ? modifiedMs : 0).toISOString(),
  };
}

function noAnswer(): ServiceError {
  return new ServiceError("box.readiness", "The box gave no answer to a request for a file.");
}
