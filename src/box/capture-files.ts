/** Takes the bytes of a whole selection out of the box in one read, counted and hashed by the host (box §8.8, security §7.2). */
import { createHash, type Hash } from "node:crypto";
import type { FileEntry, FileFault } from "../domain/box.js";
import type { CleanupStack } from "../lib/cleanup-stack.js";
import type { BlobStaging, BlobStore } from "../ports/blob-store.js";
import type { BoxFiles, FileStreamEvent } from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";
import { SNIFFED_BYTES } from "../ports/sniff-mime-type.js";
import { type ExportFault, type ExportTarget, findKindFault } from "./export-faults.js";

export interface CapturedFile extends ExportTarget {
  readonly staging: BlobStaging;
  /** Counted here, as is the sha256: nothing the box says about its bytes is believed. */
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly head: Uint8Array;
}

export type Capture =
  | { readonly ok: true; readonly files: readonly CapturedFile[] }
  | { readonly ok: false; readonly faults: readonly ExportFault[] };

export interface CaptureDeps {
  readonly files: BoxFiles;
  readonly blobs: BlobStore;
  /** Owns every staging; disposing of it leaves nothing behind of what was not committed. */
  readonly staged: CleanupStack;
}

export interface CaptureRequest {
  /** As they were when the selection was checked. */
  readonly targets: readonly ExportTarget[];
  readonly maxFileBytes: number;
  /** Bytes of the run's exports in all, and those of earlier calls. */
  readonly maxTotalBytes: number;
  readonly bytesBefore: number;
}

/**
 * Reads every target once, into staging. Reading stops as soon as a limit is passed, whatever sizes the box claimed.
 * @returns all files, or every fault: one bad file fails the selection
 */
export async function captureFiles(
  deps: CaptureDeps,
  request: CaptureRequest,
  options: CallOptions,
): Promise<Capture> {
  const captures = request.targets.map((target) => new FileCapture(target, request.maxFileBytes));
  const requests = request.targets.map(({ path, entry }) => ({
    path,
    offset: 0,
    length: request.maxFileBytes + 1,
    version: entry.version,
  }));
  let total = 0;
  for await (const event of deps.files.read(requests, options)) {
    const capture = captures[event.index];
    if (capture === undefined) break;
    await capture.take(event, deps);
    if (event.type === "bytes") total += event.bytes.byteLength;
    if (capture.fault?.reason === "too_large") break;
    if (request.bytesBefore + total > request.maxTotalBytes) return overTotal(total, request);
  }
  const faults = captures.flatMap((capture) => capture.fault ?? []);
  const files = captures.flatMap((capture) => capture.result ?? []);
  if (faults.length > 0) return { ok: false, faults };
  if (files.length === captures.length) return { ok: true, files };
  const unfinished = captures.filter((capture) => capture.result === null);
  return { ok: false, faults: unfinished.map(({ path }) => ({ reason: "engine", given: path })) };
}

function overTotal(bytes: number, request: CaptureRequest): Capture {
  const { bytesBefore: before, maxTotalBytes: limit } = request;
  return { ok: false, faults: [{ reason: "total_too_large", bytes, before, limit }] };
}

/** One file on its way: counts, hashes and stages its bytes until its end or its first fault. */
class FileCapture {
  readonly #target: ExportTarget;
  readonly #limit: number;
  readonly #hash: Hash = createHash("sha256");
  #staging: BlobStaging | null = null;
  #head: Uint8Array = new Uint8Array(0);
  #sizeBytes = 0;
  #fault: ExportFault | null = null;
  #result: CapturedFile | null = null;

  constructor(target: ExportTarget, limit: number) {
    this.#target = target;
    this.#limit = limit;
  }

  get path(): string {
    return this.#target.path;
  }

  get fault(): ExportFault | null {
    return this.#fault;
  }

  get result(): CapturedFile | null {
    return this.#result;
  }

  async take(event: FileStreamEvent, deps: CaptureDeps): Promise<void> {
    if (this.#fault !== null) return;
    switch (event.type) {
      case "entry":
        return this.#begin(event.entry, deps);
      case "bytes":
        return this.#add(event.bytes);
      case "end":
        return this.#end();
      case "fault":
        this.#fail(event.fault === "not_found" ? "vanished" : event.fault);
    }
  }

  async #begin(entry: FileEntry, { blobs, staged }: CaptureDeps): Promise<void> {
    const kind = findKindFault(entry);
    if (kind !== null) return this.#fail(kind);
    if (entry.version !== this.#target.entry.version) return this.#fail("changed");
    this.#staging ??= staged.use(await blobs.stage());
  }

  async #add(bytes: Uint8Array): Promise<void> {
    if (this.#staging === null) return this.#fail("engine");
    this.#sizeBytes += bytes.byteLength;
    if (this.#sizeBytes > this.#limit) {
      const [sizeBytes, limit] = [this.#sizeBytes, this.#limit];
      this.#fault = { reason: "too_large", given: this.path, sizeBytes, limit };
      return;
    }
    this.#hash.update(bytes);
    if (this.#head.byteLength < SNIFFED_BYTES)
      this.#head = Buffer.concat([this.#head, bytes.subarray(0, SNIFFED_BYTES - this.#head.byteLength)]);
    await this.#staging.write(bytes);
  }

  #end(): void {
    if (this.#staging === null || this.#result !== null) return this.#fail("engine");
    if (this.#sizeBytes !== this.#target.entry.sizeBytes) return this.#fail("changed");
    this.#result = {
      ...this.#target,
      staging: this.#staging,
      sizeBytes: this.#sizeBytes,
      sha256: this.#hash.digest("hex"),
      head: this.#head,
    };
  }

  #fail(reason: FileFault | "directory" | "link" | "hard_link" | "vanished" | "engine"): void {
    this.#fault = { reason, given: this.path };
  }
}
