/** Bytes in memory: a double for tests that keeps the promises of the port. */
import { createHash } from "node:crypto";
import { ServiceError } from "../../domain/errors.js";
import type { BlobStaging, BlobStore, StoredBlob } from "../../ports/blob-store.js";
import type { Clock } from "../../ports/clock.js";
import type { CallOptions } from "../../ports/options.js";

interface Blob {
  readonly bytes: Uint8Array;
  readonly committedAt: number;
}

export interface MemoryBlobDeps {
  readonly clock: Clock;
  /** Bytes it takes in all; no limit if not given. */
  readonly capacityBytes?: number | undefined;
}

const STAGING_ENDED = "The staging has ended.";
/** Bytes that come out in one piece of a read. */
const PIECE_BYTES = 65_536;

export class MemoryBlobStore implements BlobStore {
  readonly #deps: MemoryBlobDeps;
  readonly #blobs = new Map<string, Blob>();

  constructor(deps: MemoryBlobDeps) {
    this.#deps = deps;
  }

  async stage(): Promise<BlobStaging> {
    const pieces: Uint8Array[] = [];
    let closed = false;
    return {
      write: async (bytes) => {
        if (closed) throw new Error(STAGING_ENDED);
        this.#checkCapacity(pieces, bytes);
        pieces.push(Uint8Array.from(bytes));
      },
      async *read({ signal }) {
        if (closed) throw new Error(STAGING_ENDED);
        for (const piece of pieces) {
          signal.throwIfAborted();
          yield Uint8Array.from(piece);
        }
      },
      commit: async () => {
        if (closed) throw new Error(STAGING_ENDED);
        closed = true;
        return this.#keep(Buffer.concat(pieces));
      },
      [Symbol.asyncDispose]: async () => {
        closed = true;
      },
    };
  }

  async size(sha256: string): Promise<number | null> {
    return this.#blobs.get(sha256)?.bytes.byteLength ?? null;
  }

  async *read(
    sha256: string,
    range: { readonly start: number; readonly end: number } | null,
    options: CallOptions,
  ): AsyncIterable<Uint8Array> {
    const blob = this.#blobs.get(sha256);
    if (blob === undefined) throw new ServiceError("file.not_found", "The bytes of this file are not kept.");
    const bytes = range === null ? blob.bytes : blob.bytes.subarray(range.start, range.end + 1);
    for (let offset = 0; offset < bytes.byteLength; offset += PIECE_BYTES) {
      options.signal.throwIfAborted();
      yield bytes.slice(offset, offset + PIECE_BYTES);
    }
  }

  async *list(committedBefore: number, options: CallOptions): AsyncIterable<string> {
    for (const [sha256, blob] of this.#blobs) {
      options.signal.throwIfAborted();
      if (blob.committedAt < committedBefore) yield sha256;
    }
  }

  async remove(sha256: string, unlessCommittedSince?: number): Promise<boolean> {
    const blob = this.#blobs.get(sha256);
    if (blob === undefined) return false;
    if (unlessCommittedSince !== undefined && blob.committedAt >= unlessCommittedSince) return false;
    return this.#blobs.delete(sha256);
  }

  #keep(bytes: Uint8Array): StoredBlob {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.#blobs.set(sha256, { bytes, committedAt: this.#deps.clock.now() });
    return { sha256, sizeBytes: bytes.byteLength };
  }

  #checkCapacity(pieces: readonly Uint8Array[], added: Uint8Array): void {
    const kept = [...this.#blobs.values()].map(({ bytes }) => bytes);
    const total = [...kept, ...pieces, added].reduce((sum, { byteLength }) => sum + byteLength, 0);
    const capacity = this.#deps.capacityBytes ?? Infinity;
    if (total > capacity)
      throw new ServiceError("box.quota", `The file store is full: ${total} of ${capacity} bytes.`);
  }
}
