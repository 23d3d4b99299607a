/** `capture_file`: what an external service produced becomes a delivery of the run, like any export (runs §15.5). */
import type { ExportLimits } from "../../box/export-faults.js";
import { deliveredName, displayName, uniqueName } from "../../box/file-name.js";
import { deliveryKind, type FileRecord } from "../../domain/delivery.js";
import { ServiceError } from "../../domain/errors.js";
import type { FileId } from "../../domain/ids.js";
import type { CallOptions } from "../../ports/options.js";
import type { CaptureRequest } from "../../ports/run-host.js";
import type { RunRecord } from "../../ports/run-store.js";
import type { RunRecorder } from "../record-run.js";
import { StagedFile } from "../staged-file.js";
import { announceFile } from "./announce-file.js";
import type { RunBoxDeps } from "./run-box.js";
import type { RunGate } from "./run-gate.js";

/** Purpose of delivered files (api §3). */
const PURPOSE = "assistants_output";

export type CaptureDeps = Pick<
  RunBoxDeps,
  | "files"
  | "blobs"
  | "outbound"
  | "sniffMimeType"
  | "ids"
  | "clock"
  | "metrics"
  | "exportLocks"
  | "importLimits"
  | "exportLimits"
>;

export interface CaptureOf {
  readonly run: RunRecord;
  readonly gate: RunGate;
  readonly recorder: RunRecorder;
  /** By the manifest of the runner. */
  readonly isPermitted: boolean;
}

/**
 * @throws ServiceError `host.unauthorized` without the permission; `outbound.refused`, `outbound.failed` and
 *   `box.too_large` when the file cannot be had; `box.quota` when there is no space
 */
export async function captureFile(
  deps: CaptureDeps,
  of: CaptureOf,
  given: { readonly request: CaptureRequest; readonly options: CallOptions },
): Promise<FileId> {
  of.gate.check();
  if (!of.isPermitted) throw of.gate.refuse("capture_file");
  using linked = of.gate.link(given.options);
  await using staged = new StagedFile(await deps.blobs.stage());
  const named = await fetchInto(staged, { deps, url: given.request.url }, linked);
  const record = await register(deps, { run: of.run, staged, named, request: given.request }, linked);
  await announceFile({ metrics: deps.metrics, recorder: of.recorder }, record);
  return record.id;
}

/** @returns the name that the server gave it */
async function fetchInto(
  staged: StagedFile,
  { deps, url }: { readonly deps: CaptureDeps; readonly url: string },
  options: CallOptions,
): Promise<string | null> {
  const { importLimits, exportLimits, outbound } = deps;
  const maxBytes = Math.min(importLimits.maxFileBytes, exportLimits.maxFileBytes);
  await using file = await outbound.open(url, { maxBytes, timeoutMs: importLimits.urlTimeoutMs }, options);
  for await (const bytes of file.bytes) await staged.write(bytes);
  return file.name;
}

/** One at a time with the exports of the run, so that the limits over all of them hold (box §8.4, §8.9, §8.11). */
async function register(
  deps: CaptureDeps,
  of: {
    readonly run: RunRecord;
    readonly staged: StagedFile;
    readonly named: string | null;
    readonly request: CaptureRequest;
  },
  options: CallOptions,
): Promise<FileRecord> {
  const { run, staged, request } = of;
  using _turn = await deps.exportLocks.acquire(run.id, options);
  const earlier = await deps.files.listByRun(run.tenant, run.id);
  checkTotals(earlier, staged.sizeBytes, deps.exportLimits);
  const shown = displayName(request.name ?? of.named, request.kind ?? "file", earlier.length);
  const name = uniqueName(deliveredName(shown), new Set(earlier.map((file) => file.name)));
  const { head } = staged;
  options.signal.throwIfAborted();
  const record: FileRecord = {
    id: deps.ids.create("file"),
    tenant: run.tenant,
    runId: run.id,
    purpose: PURPOSE,
    name,
    kind: request.kind ?? deliveryKind(name),
    mimeType: await deps.sniffMimeType(name, head),
    ...(await staged.commit()),
    sourcePath: null,
    state: "pending",
    createdAt: deps.clock.now(),
  };
  options.signal.throwIfAborted();
  await deps.files.register([record]);
  return record;
}

function checkTotals(earlier: readonly FileRecord[], sizeBytes: number, limits: ExportLimits): void {
  const before = earlier.reduce((sum, file) => sum + file.sizeBytes, 0);
  if (earlier.length >= limits.maxFiles)
    throw new ServiceError(
      "box.too_large",
      `The run has delivered ${earlier.length} files; the limit is ${limits.maxFiles} files per run.`,
      { hint: "Deliver the others in another run." },
    );
  if (before + sizeBytes > limits.maxTotalBytes)
    throw new ServiceError(
      "box.too_large",
      `The file has ${sizeBytes} bytes; with ${before} bytes delivered earlier in this run that is more than the limit of ${limits.maxTotalBytes} bytes per run.`,
      { hint: "Deliver it in another run." },
    );
}
