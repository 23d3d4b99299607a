/** Full texts of results that were cut for the model, kept in the box (box §12.6). */
import { createHash } from "node:crypto";
import { TOOL_RESULTS_DIR } from "../domain/box.js";
import { isWithin } from "../domain/workspace-path.js";
import type { BoxFiles, WriteRequest } from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";
import { describeRefusedWrite } from "./box-path.js";
import { onePiece } from "./one-piece.js";

const MIB = 1024 * 1024;
/** Most that is kept of one call. */
export const MAX_RESULT_BYTES = 16 * MIB;
/** Most that is kept of all calls of a box. */
export const MAX_RESULTS_BYTES = 64 * MIB;
/** Bytes gathered before they are written: the memory one call may take. */
const PIECE_BYTES = 4 * MIB;
const MAX_ENTRIES = 10_000;

export type SavedResult =
  /** `sizeBytes` is less than what was offered where the limit of one call struck. */
  | { readonly ok: true; readonly path: string; readonly sizeBytes: number }
  | { readonly ok: false; readonly reason: string };

/** Where the result of a call is kept. An id that is no plain file name is replaced by its hash. */
export function toolResultPath(callId: string): string {
  const isPlain = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}$/.test(callId);
  const name = isPlain ? callId : `call-${createHash("sha256").update(callId).digest("hex").slice(0, 32)}`;
  return `${TOOL_RESULTS_DIR}/${name}`;
}

/**
 * One result on its way into the box. `add` only gathers; `write` puts what is gathered into the file. A failure is
 * remembered and told by `finish`: it must not cost the result that the model gets.
 */
export class ToolResultFile {
  readonly path: string;
  readonly #files: BoxFiles;
  #gathered = Buffer.alloc(0);
  #gatheredBytes = 0;
  #writtenBytes = 0;
  #failure: string | null = null;

  constructor(files: BoxFiles, callId: string) {
    this.#files = files;
    this.path = toolResultPath(callId);
  }

  /** Whether enough is gathered to be written. */
  get isDue(): boolean {
    return this.#gatheredBytes >= PIECE_BYTES;
  }

  add(bytes: Uint8Array): void {
    if (this.#failure !== null) return;
    const room = MAX_RESULT_BYTES - this.#writtenBytes - this.#gatheredBytes;
    const kept = bytes.length > room ? bytes.subarray(0, room) : bytes;
    this.#grow(this.#gatheredBytes + kept.length);
    this.#gathered.set(kept, this.#gatheredBytes);
    this.#gatheredBytes += kept.length;
  }

  async write(options: CallOptions): Promise<void> {
    if (this.#failure !== null || this.#gatheredBytes === 0) return;
    const piece = this.#gathered.subarray(0, this.#gatheredBytes);
    this.#failure = await writePiece(this.#files, this.#request(piece), options);
    this.#writtenBytes += piece.length;
    this.#gatheredBytes = 0;
    if (this.#failure !== null) this.#gathered = Buffer.alloc(0);
  }

  /** Writes the rest, then removes the oldest results until all together fit. */
  async finish(options: CallOptions): Promise<SavedResult> {
    await this.write(options);
    this.#gathered = Buffer.alloc(0);
    if (this.#failure !== null) return { ok: false, reason: this.#failure };
    await pruneToolResults(this.#files, this.path, options);
    return { ok: true, path: this.path, sizeBytes: this.#writtenBytes };
  }

  #request(piece: Uint8Array): WriteRequest {
    const mode = this.#writtenBytes === 0 ? "overwrite" : "append";
    return { path: this.path, mode, sizeBytes: piece.length, content: onePiece(piece) };
  }

  /** Copies into one growing buffer: a list of pieces would cost far more than their bytes when they are tiny. */
  #grow(neededBytes: number): void {
    if (neededBytes <= this.#gathered.length) return;
    const grown = Buffer.alloc(
      Math.max(neededBytes, Math.min(2 * this.#gathered.length, PIECE_BYTES), 64 * 1024),
    );
    grown.set(this.#gathered.subarray(0, this.#gatheredBytes));
    this.#gathered = grown;
  }
}

/** Removes the oldest kept results, never `keep`, until all fit the limit. A failure here leaves them for the next time. */
export async function pruneToolResults(files: BoxFiles, keep: string, options: CallOptions): Promise<void> {
  try {
    const request = { path: TOOL_RESULTS_DIR, depth: 1, maxEntries: MAX_ENTRIES, skip: [] };
    const listed = await files.list(request, options);
    if (!listed.ok) return;
    const surplus = findSurplus(listed.entries, keep).map(({ path, version }) => ({ path, version }));
    if (surplus.length > 0) await files.remove(surplus, options);
  } catch {
    // The result itself is safe, and an engine that is gone says so at the next call.
    return;
  }
}

interface KeptResult {
  readonly path: string;
  readonly version: string;
  readonly kind: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
}

/** Which kept results must go, oldest first. */
export function findSurplus<Entry extends KeptResult>(
  entries: readonly Entry[],
  keep: string,
): readonly Entry[] {
  const results = entries.filter(({ kind, path }) => kind === "file" && isWithin(TOOL_RESULTS_DIR, path));
  let totalBytes = results.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const oldestFirst = results
    .filter(({ path }) => path !== keep)
    .toSorted((a, b) => a.modifiedMs - b.modifiedMs || (a.path < b.path ? -1 : 1));
  return oldestFirst.filter(({ sizeBytes }) => {
    if (totalBytes <= MAX_RESULTS_BYTES) return false;
    totalBytes -= sizeBytes;
    return true;
  });
}

/** @returns why the piece was not written; null when it was */
async function writePiece(
  files: BoxFiles,
  request: WriteRequest,
  options: CallOptions,
): Promise<string | null> {
  if (options.signal.aborted) return "The call was stopped before its output was saved.";
  try {
    const [answer] = await files.write([request], options);
    if (answer === undefined) return "The box gave no answer.";
    return answer.ok ? null : describeRefusedWrite(request.path, answer);
  } catch {
    return "The box could not be reached to save it.";
  }
}
