/** Why a selection cannot be exported, and what to do instead (box §8.3–§8.5). */
import type { FileEntry, FileFault, PathFault, StatAnswer } from "../domain/box.js";
import type { FileId } from "../domain/ids.js";
import { type ExportPathFault, type RunDirectories, showPath, suggestOutboxPath } from "./export-paths.js";

export interface ExportLimits {
  /** Bytes of one file: the service's limit, or the surface's where that is lower. */
  readonly maxFileBytes: number;
  /** Files and bytes of one run, earlier exports included. */
  readonly maxFiles: number;
  readonly maxTotalBytes: number;
}

/** What a run has exported already. */
export interface ExportedBefore {
  readonly files: number;
  readonly bytes: number;
}

/** A path that may be exported as far as its text goes. */
export interface ExportCandidate {
  readonly path: string;
  readonly stat: StatAnswer | undefined;
  /** The file this path was delivered as earlier in this run. */
  readonly exportedAs: FileId | null;
}

export type ExportFault =
  | { readonly reason: ExportPathFault; readonly given: unknown }
  | {
      readonly reason: FileFault | "directory" | "link" | "hard_link" | "vanished" | "engine";
      readonly given: string;
    }
  | {
      readonly reason: "too_large";
      readonly given: string;
      readonly sizeBytes: number;
      readonly limit: number;
    }
  | { readonly reason: "already_exported"; readonly given: string; readonly fileId: FileId }
  | { readonly reason: "too_many"; readonly count: number; readonly before: number; readonly limit: number }
  | {
      readonly reason: "total_too_large";
      readonly bytes: number;
      readonly before: number;
      readonly limit: number;
    };

/** A file that may be exported as far as the box says. */
export interface ExportTarget {
  readonly path: string;
  readonly entry: FileEntry;
}

/** Either faults, or all targets: each file is looked at by itself, then count and sum over the run. */
export function inspectSelection(
  candidates: readonly ExportCandidate[],
  before: ExportedBefore,
  limits: ExportLimits,
): { readonly targets: readonly ExportTarget[]; readonly faults: readonly ExportFault[] } {
  const judged = candidates.map((candidate) => judge(candidate, limits.maxFileBytes));
  const targets = judged.flatMap((item) => ("entry" in item ? [item] : []));
  const faults = judged.flatMap((item) => ("reason" in item ? [item] : []));
  return { targets, faults: faults.length > 0 ? faults : findTotalFaults(targets, before, limits) };
}

function judge({ path, stat, exportedAs }: ExportCandidate, limit: number): ExportTarget | ExportFault {
  if (stat === undefined) return { reason: "not_found", given: path };
  if ("fault" in stat) {
    if (isAbsent(stat.fault) && exportedAs !== null)
      return { reason: "already_exported", given: path, fileId: exportedAs };
    return { reason: stat.fault, given: path };
  }
  const { entry } = stat;
  const kind = findKindFault(entry);
  if (kind !== null) return { reason: kind, given: path };
  const { sizeBytes } = entry;
  return sizeBytes > limit ? { reason: "too_large", given: path, sizeBytes, limit } : { path, entry };
}

function isAbsent(fault: PathFault): boolean {
  return fault === "not_found" || fault === "not_directory";
}

/** What keeps an entry of the box from being exported, apart from its size. */
export function findKindFault(
  entry: FileEntry,
): "directory" | "link" | "not_regular" | "hard_link" | "unreadable" | null {
  if (entry.kind === "directory") return "directory";
  if (entry.kind === "link") return "link";
  if (entry.kind !== "file") return "not_regular";
  if (entry.linkCount !== 1) return "hard_link";
  return entry.readable ? null : "unreadable";
}

function findTotalFaults(
  targets: readonly ExportTarget[],
  before: ExportedBefore,
  limits: ExportLimits,
): readonly ExportFault[] {
  const count = targets.length;
  if (before.files + count > limits.maxFiles)
    return [{ reason: "too_many", count, before: before.files, limit: limits.maxFiles }];
  const bytes = targets.reduce((sum, { entry }) => sum + entry.sizeBytes, 0);
  if (before.bytes + bytes > limits.maxTotalBytes)
    return [{ reason: "total_too_large", bytes, before: before.bytes, limit: limits.maxTotalBytes }];
  return [];
}

/** The error of a refused call: every failing path with its reason and the remedy (box §8.2, §8.5). */
export function describeExportFaults(faults: readonly ExportFault[], run: RunDirectories): string {
  const lines = faults.map((fault) => `- ${describeFault(fault, run)}`);
  return `Nothing was exported and nothing was removed:\n${lines.join("\n")}`;
}

function describeFault(fault: ExportFault, run: RunDirectories): string {
  switch (fault.reason) {
    case "too_many":
      return `${fault.count} files, with ${fault.before} exported earlier in this run, are more than the limit of ${fault.limit} files per run. Pack several files into one archive.`;
    case "total_too_large":
      return `${fault.bytes} bytes, with ${fault.before} bytes exported earlier in this run, are more than the limit of ${fault.limit} bytes per run. Export less, or compress.`;
    default:
      return `${typeof fault.given === "string" ? showPath(fault.given) : "an entry"}: ${describePathFault(fault, run)}`;
  }
}

type PathOnlyFault = Exclude<ExportFault, { readonly reason: "too_many" | "total_too_large" }>;

function describePathFault(fault: PathOnlyFault, run: RunDirectories): string {
  switch (fault.reason) {
    case "too_large":
      return `it has ${fault.sizeBytes} bytes; the limit is ${fault.limit} bytes per file. Compress it or split it.`;
    case "already_exported":
      return `it was already exported in this run as ${fault.fileId}: it is registered for delivery and must not be exported again.`;
    case "relative":
      return `the path must be absolute. Use ${showPath(suggestOutboxPath(String(fault.given), run))}.`;
    case "directory_itself":
      return `this is a directory of the workspace itself. Name the files in it, e.g. ${showPath(`${run.outbox}/<file>`)}.`;
    case "other_run":
      return `it does not belong to this run. Copy it to ${showPath(run.outbox)} first.`;
    default:
      return REASONS[fault.reason];
  }
}

type PlainReason = Exclude<
  PathOnlyFault["reason"],
  "too_large" | "already_exported" | "relative" | "directory_itself" | "other_run"
>;

const REASONS: Readonly<Record<PlainReason, string>> = {
  not_text: "every entry of the list must be a text.",
  bad_path:
    "this cannot be a path: 1 to 4096 characters of valid text without NUL, each name at most 255 bytes.",
  escapes: "the path escapes /workspace. Only files below /workspace can be exported; copy the file there.",
  skills: "files of skills cannot be exported. Copy what you need to this run's outbox.",
  repeated: "the same file is in the list twice.",
  not_found: "there is no such file. Check the name, e.g. with ls.",
  not_directory: "there is no such file: a part of the path is not a directory.",
  symlink_component: "a part of the path is a link. Use the real path.",
  link: "it is a link. Export the file it points to, or a copy.",
  directory: "it is a directory. Pack it into an archive, or name its files one by one.",
  not_regular: "it is not a regular file.",
  hard_link: "it has more than one hard link. Copy it and export the copy.",
  unreadable: "it cannot be read. Check its permissions.",
  denied: "it cannot be read. Check its permissions.",
  changed: "it changed while it was read. Try again when nothing writes to it.",
  vanished: "it vanished while it was read. Check that nothing removes it, and try again.",
  exists: "it could not be read.",
  no_space: "the service has no space left for it. Try again later.",
  engine: "the box did not answer as expected. Try again.",
};
