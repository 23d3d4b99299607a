/** Bytes by their sha256. Contract: test/contracts/blob-store.ts. */
import type { CallOptions } from "./options.js";

export interface StoredBlob {
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** Bytes on their way in: nothing is visible until `commit`; disposing without it leaves nothing behind. */
export interface BlobStaging extends AsyncDisposable {
  write(bytes: Uint8Array): Promise<void>;
  /** What was written so far, for bytes that only pass through and are never committed; not after the end. */
  read(options: CallOptions): AsyncIterable<Uint8Array>;
  /** Flushes to the disk and makes the bytes readable under their sha256; equal bytes are kept once. */
  commit(): Promise<StoredBlob>;
}

export interface BlobStore {
  /** @throws ServiceError `box.quota` when there is no space */
  stage(): Promise<BlobStaging>;
  /** @returns size in bytes, or null when there is no such blob */
  size(sha256: string): Promise<number | null>;
  /**
   * Bytes from `start` to `end` (inclusive), or as far as there are any; the stream frees what it holds when it is left early.
   * @throws ServiceError `file.not_found` when there is no such blob
   */
  read(
    sha256: string,
    range: { readonly start: number; readonly end: number } | null,
    options: CallOptions,
  ): AsyncIterable<Uint8Array>;
  /**
   * Every blob committed before that time (Unix milliseconds), in no order: whoever cleans up asks the records which of
   * them are still needed. Blobs that come and go meanwhile may or may not be among them.
   */
  list(committedBefore: number, options: CallOptions): AsyncIterable<string>;
  /**
   * Already gone is no failure.
   * @param unlessCommittedSince Unix milliseconds: a blob committed at or after that time stays, because whoever
   *   committed it may be about to write the record that refers to it
   * @returns whether the bytes were removed
   */
  remove(sha256: string, unlessCommittedSince?: number): Promise<boolean>;
}
