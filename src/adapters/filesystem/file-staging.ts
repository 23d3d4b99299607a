/** Bytes on their way into a file of a random name: hashed while they are written, gone unless they are committed. */
import type { Hash } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { ServiceError } from "../../domain/errors.js";
import type { BlobStaging, StoredBlob } from "../../ports/blob-store.js";
import type { CallOptions } from "../../ports/options.js";
import { readPieces } from "./read-pieces.js";

export interface FileStagingDeps {
  readonly path: string;
  /** Open for writing and empty; closed by the staging. */
  readonly file: FileHandle;
  readonly hash: Hash;
  /** Takes the complete file, which is on the disk and closed, away from `path`. */
  readonly keep: (blob: StoredBlob) => Promise<void>;
}

export class FileStaging implements BlobStaging {
  readonly #deps: FileStagingDeps;
  #sizeBytes = 0;
  #state: "open" | "ended" = "open";

  constructor(deps: FileStagingDeps) {
    this.#deps = deps;
  }

  /** @throws ServiceError `box.quota` when the disk is full; the staging has ended then */
  async write(bytes: Uint8Array): Promise<void> {
    this.#checkOpen();
    this.#deps.hash.update(bytes);
    this.#sizeBytes += bytes.byteLength;
    try {
      await translateFull(() => writeAll(this.#deps.file, bytes));
    } catch (error) {
      this.#state = "ended";
      throw error;
    }
  }

  async *read(options: CallOptions): AsyncIterable<Uint8Array> {
    this.#checkOpen();
    await using file = await open(this.#deps.path, "r");
    yield* readPieces(file, { start: 0, stop: this.#sizeBytes }, options);
  }

  async commit(): Promise<StoredBlob> {
    this.#checkOpen();
    this.#state = "ended";
    const blob = { sha256: this.#deps.hash.digest("hex"), sizeBytes: this.#sizeBytes };
    await translateFull(async () => {
      await this.#deps.file.sync();
      await this.#deps.file.close();
      await this.#deps.keep(blob);
    });
    return blob;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#state = "ended";
    // Closing a closed file is harmless, and after a commit nothing lies under the path.
    await this.#deps.file.close();
    await rm(this.#deps.path, { force: true });
  }

  #checkOpen(): void {
    if (this.#state === "ended") throw new Error("The staging has ended.");
  }
}

/** A write may take a part of the bytes only. */
async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  let offset = 0;
  while (offset < bytes.byteLength) {
    const { bytesWritten } = await file.write(bytes, offset);
    offset += bytesWritten;
  }
}

/** @throws ServiceError `box.quota` when the work fails because the disk is full */
export async function translateFull<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    if (error.code !== "ENOSPC" && error.code !== "EDQUOT") throw error;
    throw new ServiceError("box.quota", "The service has no disk space left for files.", {
      hint: "The operator must free disk space or shorten storage.retention_days.",
      cause: error,
    });
  }
}
