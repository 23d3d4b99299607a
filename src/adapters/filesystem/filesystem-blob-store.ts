/**
 * Bytes as files named by their sha256: `blobs/<first two digits>/<sha256>`. They are written under a random name in
 * `staging` and renamed when they are complete and on the disk, so a crash leaves staging files only.
 */
import { createHash } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, unlink, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ServiceError } from "../../domain/errors.js";
import { KeyedLock } from "../../lib/keyed-lock.js";
import type { BlobStaging, BlobStore, StoredBlob } from "../../ports/blob-store.js";
import type { Clock } from "../../ports/clock.js";
import type { IdSource } from "../../ports/id-source.js";
import type { CallOptions } from "../../ports/options.js";
import { FileStaging, translateFull } from "./file-staging.js";
import { readPieces } from "./read-pieces.js";

export interface FilesystemBlobDeps {
  /** Directory of the store; made if it is missing. */
  readonly root: string;
  readonly clock: Clock;
  readonly ids: IdSource;
}

/** Nobody waits long for one blob: whoever holds its lock renames or removes one file. A signal of its own for each. */
function patient(): CallOptions {
  return { signal: new AbortController().signal };
}

export class FilesystemBlobStore implements BlobStore {
  readonly #deps: FilesystemBlobDeps;
  /** Keeps a removal from hitting bytes that are being committed again. */
  readonly #locks = new KeyedLock<string>();

  constructor(deps: FilesystemBlobDeps) {
    this.#deps = deps;
  }

  /** Makes the directories and removes what a crash left in `staging`. Call it once, before anything else. */
  async prepare(): Promise<void> {
    await rm(this.#stagingFolder, { recursive: true, force: true });
    for (const folder of [this.#stagingFolder, join(this.#deps.root, "blobs")])
      await mkdir(folder, { recursive: true, mode: 0o700 });
  }

  async stage(): Promise<BlobStaging> {
    const path = join(this.#stagingFolder, this.#deps.ids.randomHex(32));
    const file = await translateFull(() => open(path, "wx", 0o600));
    return new FileStaging({
      path,
      file,
      hash: createHash("sha256"),
      keep: (blob) => this.#keep(path, blob),
    });
  }

  async size(sha256: string): Promise<number | null> {
    const path = this.#pathOf(sha256);
    if (path === null) return null;
    return (await statIfThere(path))?.size ?? null;
  }

  async *read(
    sha256: string,
    range: { readonly start: number; readonly end: number } | null,
    options: CallOptions,
  ): AsyncIterable<Uint8Array> {
    options.signal.throwIfAborted();
    await using file = await this.#openBlob(sha256);
    const { size } = await file.stat();
    const stop = Math.min(size, (range?.end ?? Infinity) + 1);
    yield* readPieces(file, { start: range?.start ?? 0, stop }, options);
  }

  async *list(committedBefore: number, options: CallOptions): AsyncIterable<string> {
    const folder = join(this.#deps.root, "blobs");
    for (const shard of await readdir(folder)) {
      options.signal.throwIfAborted();
      for (const sha256 of await readdir(join(folder, shard))) {
        const path = this.#pathOf(sha256);
        const committedAt = path === null ? null : await committedAtOf(path);
        if (committedAt !== null && committedAt < committedBefore) yield sha256;
      }
    }
  }

  async remove(sha256: string, unlessCommittedSince?: number): Promise<boolean> {
    const path = this.#pathOf(sha256);
    if (path === null) return false;
    using _hold = await this.#locks.acquire(sha256, patient());
    const committedAt = await committedAtOf(path);
    if (committedAt === null) return false;
    if (unlessCommittedSince !== undefined && committedAt >= unlessCommittedSince) return false;
    await unlink(path);
    return true;
  }

  /** Moves complete bytes to their place, or drops them where equal ones lie; either way they count as committed at this time. */
  async #keep(staged: string, blob: StoredBlob): Promise<void> {
    const path = join(this.#deps.root, "blobs", blob.sha256.slice(0, 2), blob.sha256);
    const committedAt = new Date(this.#deps.clock.now());
    using _hold = await this.#locks.acquire(blob.sha256, patient());
    if ((await statIfThere(path)) === null) {
      await utimes(staged, committedAt, committedAt);
      if ((await mkdir(dirname(path), { recursive: true, mode: 0o700 })) !== undefined)
        await syncFolder(join(this.#deps.root, "blobs"));
      await rename(staged, path);
      await syncFolder(dirname(path));
    } else {
      await utimes(path, committedAt, committedAt);
      await unlink(staged);
    }
  }

  async #openBlob(sha256: string): Promise<FileHandle> {
    const path = this.#pathOf(sha256);
    const file = path === null ? null : await nullIfMissing(open(path, "r"));
    if (file === null) throw new ServiceError("file.not_found", "The bytes of this file are not kept.");
    return file;
  }

  /** Null for whatever is no sha256, so that no given name becomes part of a path. */
  #pathOf(sha256: string): string | null {
    return /^[0-9a-f]{64}$/.test(sha256) ? join(this.#deps.root, "blobs", sha256.slice(0, 2), sha256) : null;
  }

  get #stagingFolder(): string {
    return join(this.#deps.root, "staging");
  }
}

function statIfThere(path: string) {
  return nullIfMissing(stat(path));
}

/** Unix milliseconds; null when there is no such file. */
async function committedAtOf(path: string): Promise<number | null> {
  const stats = await statIfThere(path);
  return stats === null ? null : Math.round(stats.mtimeMs);
}

async function nullIfMissing<Value>(found: Promise<Value>): Promise<Value | null> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}
