/** Streams the chosen files out of the box in one request and searches one after the other (box §13.4). */
import type { FileEntry } from "../../domain/box.js";
import { linkSignals } from "../../lib/link-signals.js";
import { TimeLimit } from "../../lib/time-limit.js";
import type { BoxFiles, FileStreamEvent } from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import { detectBinary, SIGNATURE_BYTES } from "./file-signature.js";
import { MAX_FILE_BYTES, type SkippedFile } from "./grep-plan.js";
import { type FileSearch, type LineMatch, MAX_LINE_CHARS, RegexWorker } from "./regex-worker.js";

export const MAX_MATCHES = 200;
/** UTF-16 units that hold any 500 characters and show that there are more. */
const SHOWN_UNITS = 1001;

export interface GrepTimes {
  /** Milliseconds for the expression in one file. */
  readonly fileMs: number;
  /** Milliseconds for reading and searching all files. */
  readonly totalMs: number;
}

export interface FoundLine extends LineMatch {
  readonly file: string;
}

export interface GrepFindings {
  /** At most 200. */
  readonly found: readonly FoundLine[];
  readonly skipped: readonly SkippedFile[];
  readonly searchedFiles: number;
  readonly binaryFiles: number;
  readonly isMatchesCut: boolean;
  /** Whether a file or the whole search ran out of time. */
  readonly isTimeCut: boolean;
  /** Whether a line was too long to be searched. */
  readonly isLineSkipped: boolean;
}

export interface GrepSource {
  readonly files: BoxFiles;
  readonly entries: readonly FileEntry[];
  readonly expression: RegExp;
  readonly times: GrepTimes;
}

/** @throws what the box throws, and the signal's reason; running out of time is a finding, no failure */
export async function searchFiles(source: GrepSource, options: CallOptions): Promise<GrepFindings> {
  using limit = new TimeLimit(() => new Error("The search took too long."));
  using linked = linkSignals(options.signal, limit.signal);
  await using search = new FileByFile(source, linked.signal);
  limit.restart(source.times.totalMs);
  try {
    await search.run();
  } catch (error) {
    if (options.signal.aborted || !limit.signal.aborted) throw error;
  }
  options.signal.throwIfAborted();
  return search.findings(limit.signal.aborted);
}

class FileByFile implements AsyncDisposable {
  readonly #source: GrepSource;
  readonly #signal: AbortSignal;
  readonly #worker: RegexWorker;
  readonly #found: FoundLine[] = [];
  readonly #skipped: SkippedFile[] = [];
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;
  #searchedFiles = 0;
  #binaryFiles = 0;
  #isTimeCut = false;
  #isLineSkipped = false;

  constructor(source: GrepSource, signal: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
    this.#worker = new RegexWorker(source.expression, SHOWN_UNITS);
  }

  async run(): Promise<void> {
    const { entries, files } = this.#source;
    if (entries.length === 0) return;
    const requests = entries.map(({ path }) => ({ path, offset: 0, length: MAX_FILE_BYTES }));
    for await (const event of files.read(requests, { signal: this.#signal })) {
      const entry = entries[event.index];
      if (entry !== undefined) await this.#take(entry, event);
      // One more than is shown tells that there are more.
      if (this.#found.length > MAX_MATCHES || this.#signal.aborted) return;
    }
  }

  findings(isOutOfTime: boolean): GrepFindings {
    return {
      found: this.#found.slice(0, MAX_MATCHES),
      skipped: this.#skipped,
      searchedFiles: this.#searchedFiles,
      binaryFiles: this.#binaryFiles,
      isMatchesCut: this.#found.length > MAX_MATCHES,
      isTimeCut: this.#isTimeCut || isOutOfTime,
      isLineSkipped: this.#isLineSkipped,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker[Symbol.asyncDispose]();
  }

  async #take(entry: FileEntry, event: FileStreamEvent): Promise<void> {
    switch (event.type) {
      case "entry":
        this.#forget();
        return;
      case "bytes":
        this.#gather(event.bytes);
        return;
      case "fault":
        this.#forget();
        this.#skip(entry, `it could not be read (${event.fault})`);
        return;
      case "end":
        await this.#searchGathered(entry);
        this.#forget();
    }
  }

  #gather(bytes: Uint8Array): void {
    const kept = bytes.subarray(0, MAX_FILE_BYTES - this.#pieceBytes);
    this.#pieces.push(kept);
    this.#pieceBytes += kept.length;
  }

  #forget(): void {
    this.#pieces = [];
    this.#pieceBytes = 0;
  }

  async #searchGathered(entry: FileEntry): Promise<void> {
    // A buffer of its own: it is handed over to the thread, and small Buffers share one.
    const bytes = new Uint8Array(this.#pieceBytes);
    let start = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, start);
      start += piece.length;
    }
    if (detectBinary(bytes.subarray(0, SIGNATURE_BYTES), entry.path) !== null) {
      this.#binaryFiles += 1;
      return;
    }
    const limits = {
      maxMatches: MAX_MATCHES + 1 - this.#found.length,
      timeoutMs: this.#source.times.fileMs,
      signal: this.#signal,
    };
    this.#note(entry, await this.#worker.search(bytes, limits));
  }

  #note(entry: FileEntry, search: FileSearch): void {
    this.#searchedFiles += 1;
    this.#found.push(...search.matches.map((match) => ({ ...match, file: entry.path })));
    if (search.end === "time") {
      this.#isTimeCut = true;
      this.#skip(entry, `the pattern took more than ${this.#source.times.fileMs / 1000} s`);
    }
    if (search.end === "failed") this.#skip(entry, "the pattern failed on it");
    if (search.longLines > 0) {
      this.#isLineSkipped = true;
      this.#skip(entry, `${search.longLines} lines above ${MAX_LINE_CHARS} characters were not searched`);
    }
  }

  #skip({ path }: FileEntry, reason: string): void {
    this.#skipped.push({ file: path, reason });
  }
}
