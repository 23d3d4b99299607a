/** `export_box_files`: validate the whole selection, register all of it, then remove exactly its sources (box §8). */
import { deliveryKind, type FileRecord } from "../domain/delivery.js";
import type { RunId } from "../domain/ids.js";
import { CleanupStack } from "../lib/cleanup-stack.js";
import type { KeyedLock } from "../lib/keyed-lock.js";
import type { BlobStore } from "../ports/blob-store.js";
import type { BoxFiles, RemoveAnswer } from "../ports/box-handle.js";
import type { Clock } from "../ports/clock.js";
import type { FileStore } from "../ports/file-store.js";
import type { IdSource } from "../ports/id-source.js";
import type { CallOptions } from "../ports/options.js";
import type { SniffMimeType } from "../ports/sniff-mime-type.js";
import type { ExportAnswer, ExportedFile } from "../ports/tool.js";
import { type CapturedFile, captureFiles } from "./capture-files.js";
import {
  describeExportFaults,
  type ExportedBefore,
  type ExportFault,
  type ExportLimits,
  type ExportTarget,
  inspectSelection,
} from "./export-faults.js";
import { checkExportPaths, type RunDirectories, showPath } from "./export-paths.js";
import { deliveredName, uniqueName } from "./file-name.js";

export interface ExportDeps {
  readonly files: BoxFiles;
  readonly blobs: BlobStore;
  readonly fileStore: FileStore;
  /** One export of a run at a time (box §8.9); shared by all calls. */
  readonly locks: KeyedLock<RunId>;
  readonly sniffMimeType: SniffMimeType;
  readonly ids: IdSource;
  readonly clock: Clock;
}

export interface ExportRequest extends RunDirectories {
  readonly tenant: string;
  readonly runId: RunId;
  /** As the model gave it. */
  readonly paths: unknown;
  readonly limits: ExportLimits;
}

/** Purpose of delivered files, in the words of the OpenAI Files shape (api §3). */
const PURPOSE = "assistants_output";

/**
 * Exports a selection as a whole: with one bad path nothing is registered and nothing is removed.
 * What was captured counts; a source that cannot be removed afterwards is a warning (box §8.7, §8.8).
 * @returns a refusal as `{ok: false, error}` that names every failing path with its remedy
 * @throws the signal's reason when it aborts before the files are registered; ServiceError of a lost engine or store
 */
export async function exportFiles(
  deps: ExportDeps,
  request: ExportRequest,
  options: CallOptions,
): Promise<ExportAnswer> {
  const { paths, limits } = request;
  if (!Array.isArray(paths) || paths.length === 0) return refuse(NO_LIST, request);
  using _turn = await deps.locks.acquire(request.runId, options);
  const earlier = await deps.fileStore.listByRun(request.tenant, request.runId);
  const [count, before, limit] = [paths.length, earlier.length, limits.maxFiles];
  if (count > limit) return refuse([{ reason: "too_many", count, before, limit }], request);
  const selection = await inspectPaths(deps, { request, paths, earlier }, options);
  if (selection.faults.length > 0) return refuse(selection.faults, request);
  await using staged = new CleanupStack();
  const captured = await captureFiles(
    { files: deps.files, blobs: deps.blobs, staged },
    {
      targets: selection.targets,
      maxFileBytes: limits.maxFileBytes,
      maxTotalBytes: limits.maxTotalBytes,
      bytesBefore: exportedBefore(earlier).bytes,
    },
    options,
  );
  if (!captured.ok) return refuse(captured.faults, request);
  const repeated = findRepeated(captured.files, earlier);
  if (repeated.length > 0) return refuse(repeated, request);
  options.signal.throwIfAborted();
  const registered = await register(deps, { request, earlier, captured: captured.files }, options);
  return answer(registered, await removeSources(deps.files, registered, options));
}

const NO_LIST =
  'Nothing was exported: "paths" must be a list with at least one absolute path, e.g. ["/workspace/outbox/<run>/report.pdf"].';

function refuse(why: string | readonly ExportFault[], run: RunDirectories): ExportAnswer {
  if (typeof why !== "string") return { ok: false, error: describeExportFaults(why, run) };
  return { ok: false, error: why.replace("/workspace/outbox/<run>", run.outbox) };
}

/** Looks the whole selection up in one request; a path that fails as text is not looked up. */
async function inspectPaths(
  deps: ExportDeps,
  of: {
    readonly request: ExportRequest;
    readonly paths: readonly unknown[];
    readonly earlier: readonly FileRecord[];
  },
  options: CallOptions,
): Promise<ReturnType<typeof inspectSelection>> {
  const checked = checkExportPaths(of.paths, of.request);
  const paths = checked.flatMap((item) => ("path" in item ? [item.path] : []));
  const stats = paths.length === 0 ? [] : await deps.files.stat(paths, options);
  const candidates = paths.map((path, index) => ({
    path,
    stat: stats[index],
    exportedAs: of.earlier.findLast((file) => file.sourcePath === path)?.id ?? null,
  }));
  const textFaults = checked.flatMap((item): ExportFault[] =>
    "fault" in item ? [{ reason: item.fault, given: item.given }] : [],
  );
  const selection = inspectSelection(candidates, exportedBefore(of.earlier), of.request.limits);
  return { ...selection, faults: [...textFaults, ...selection.faults] };
}

function exportedBefore(earlier: readonly FileRecord[]): ExportedBefore {
  return { files: earlier.length, bytes: earlier.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
}

/** A source that outlived its export, unchanged: it was registered once and must not be delivered twice (box §8.7). */
function findRepeated(
  files: readonly CapturedFile[],
  earlier: readonly FileRecord[],
): readonly ExportFault[] {
  return files.flatMap(({ path, sha256 }): ExportFault[] => {
    const twin = earlier.find((record) => record.sourcePath === path && record.sha256 === sha256);
    return twin === undefined ? [] : [{ reason: "already_exported", given: path, fileId: twin.id }];
  });
}

interface RegisteredFile extends ExportTarget {
  readonly record: FileRecord;
}

/** Keeps the bytes, then registers all of them in one transaction. */
async function register(
  deps: ExportDeps,
  of: {
    readonly request: ExportRequest;
    readonly earlier: readonly FileRecord[];
    readonly captured: readonly CapturedFile[];
  },
  options: CallOptions,
): Promise<readonly RegisteredFile[]> {
  const taken = new Set(of.earlier.map(({ name }) => name));
  const files: RegisteredFile[] = [];
  for (const file of of.captured) {
    const name = uniqueName(deliveredName(file.path), taken);
    taken.add(name);
    const { sha256, sizeBytes } = await file.staging.commit();
    const record: FileRecord = {
      id: deps.ids.create("file"),
      tenant: of.request.tenant,
      runId: of.request.runId,
      purpose: PURPOSE,
      name,
      kind: deliveryKind(name),
      mimeType: await deps.sniffMimeType(name, file.head),
      sizeBytes,
      sha256,
      sourcePath: file.path,
      state: "pending",
      createdAt: deps.clock.now(),
    };
    files.push({ record, path: file.path, entry: file.entry });
  }
  options.signal.throwIfAborted();
  await deps.fileStore.register(files.map(({ record }) => record));
  return files;
}

/** @returns why a source is still there, by path. Nothing that fails here undoes the export. */
async function removeSources(
  files: BoxFiles,
  registered: readonly RegisteredFile[],
  options: CallOptions,
): Promise<ReadonlyMap<string, string>> {
  const targets = registered.map(({ path, entry }) => ({ path, version: entry.version }));
  try {
    const answers = await files.remove(targets, options);
    return new Map(targets.flatMap(({ path }, index) => describeRemoval(path, answers[index])));
  } catch {
    return new Map(targets.map(({ path }) => [path, "the box did not answer"]));
  }
}

function describeRemoval(path: string, removal: RemoveAnswer | undefined): [string, string][] {
  if (removal?.ok === true || removal?.fault === "not_found") return [];
  return [
    [path, removal?.fault === "changed" ? "it was changed meanwhile" : "the box user may not remove it"],
  ];
}

function answer(registered: readonly RegisteredFile[], kept: ReadonlyMap<string, string>): ExportAnswer {
  const files = registered.map(
    ({ record, path }): ExportedFile => ({
      file_id: record.id,
      name: record.name,
      type: record.mimeType,
      size: record.sizeBytes,
      sha256: record.sha256,
      source_removed: !kept.has(path),
    }),
  );
  const warnings = registered.flatMap(({ record, path }) => {
    const reason = kept.get(path);
    return reason === undefined
      ? []
      : [
          `${showPath(path)} is registered as ${record.id}, but its source is still there: ${reason}. Do not export it again.`,
        ];
  });
  return { ok: true, files, warnings };
}
