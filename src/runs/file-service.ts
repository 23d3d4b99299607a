/** Files of a tenant: uploads, deliveries, their bytes, links to them and their end (api §3, box §9.7). */
import { deliveredName } from "../box/file-name.js";
import { deliveryKind, type FileRecord } from "../domain/delivery.js";
import { ServiceError } from "../domain/errors.js";
import type { FileId } from "../domain/ids.js";
import type { BlobStore } from "../ports/blob-store.js";
import type { Clock } from "../ports/clock.js";
import type { FileStore } from "../ports/file-store.js";
import type { IdSource } from "../ports/id-source.js";
import type { CallOptions } from "../ports/options.js";
import type { SniffMimeType } from "../ports/sniff-mime-type.js";
import type { Caller } from "./run-request.js";
import { signLink, verifyLink } from "./signed-link.js";
import { StagedFile } from "./staged-file.js";

const MAX_NAME_CHARS = 255;
/** Records that one step of the retention sweep removes. */
const SWEEP_STEP = 100;
/** Milliseconds within which bytes that were written get their record: longer than any tool call. */
const REGISTERED_WITHIN_MS = 3_600_000;

export interface FileServiceDeps {
  readonly files: FileStore;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly sniffMimeType: SniffMimeType;
  /** Key of signed links. */
  readonly linkSecret: string;
}

export interface FileQuery {
  readonly limit: number;
  readonly after?: FileId | undefined;
  readonly purpose?: string | undefined;
}

export interface FilePage {
  readonly files: readonly FileRecord[];
  readonly hasMore: boolean;
}

/** Bytes from `start` to `end`, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Ids of another tenant are `file.not_found` everywhere (api §1.3). */
export class FileService {
  readonly #deps: FileServiceDeps;

  constructor(deps: FileServiceDeps) {
    this.#deps = deps;
  }

  /** @throws ServiceError `box.quota` when there is no space */
  async stage(): Promise<StagedFile> {
    return new StagedFile(await this.#deps.blobs.stage());
  }

  /** Keeps an upload. The name is cleaned to one line without a path; the declared type is not believed. */
  async add(
    caller: Caller,
    upload: { readonly staged: StagedFile; readonly name: string; readonly purpose: string },
  ): Promise<FileRecord> {
    const { files, ids, clock, sniffMimeType } = this.#deps;
    const name = deliveredName(upload.name.slice(-MAX_NAME_CHARS));
    const mimeType = await sniffMimeType(name, upload.staged.head);
    const { sha256, sizeBytes } = await upload.staged.commit();
    const record: FileRecord = {
      id: ids.create("file"),
      tenant: caller.tenant,
      runId: null,
      purpose: upload.purpose,
      name,
      kind: deliveryKind(name),
      mimeType,
      sizeBytes,
      sha256,
      sourcePath: null,
      state: "acked",
      createdAt: clock.now(),
    };
    await files.register([record]);
    return record;
  }

  async get(caller: Caller, id: FileId): Promise<FileRecord> {
    const record = await this.#deps.files.get(caller.tenant, id);
    if (record === null) throw fileNotFound(id);
    return record;
  }

  /** Newest first. */
  async list(caller: Caller, query: FileQuery): Promise<FilePage> {
    const records = await this.#deps.files.list(caller.tenant, { ...query, limit: query.limit + 1 });
    return { files: records.slice(0, query.limit), hasMore: records.length > query.limit };
  }

  /** Bytes of a file that `get` or `openLink` gave. */
  read(file: FileRecord, range: ByteRange | null, options: CallOptions): AsyncIterable<Uint8Array> {
    return this.#deps.blobs.read(file.sha256, range, options);
  }

  /** A client has fetched the whole file: a delivery that was pending counts as sent (box §9.2). */
  async markSent(file: FileRecord): Promise<void> {
    if (file.runId !== null) await this.#deps.files.setState(file.id, "sent", "pending");
  }

  async remove(caller: Caller, id: FileId): Promise<void> {
    await this.#remove(await this.get(caller, id));
  }

  /** @returns the token of a link to the file, and when it expires (Unix seconds) */
  async createLink(
    caller: Caller,
    id: FileId,
    ttlSec: number,
  ): Promise<{ readonly file: FileRecord; readonly token: string; readonly expiresAt: number }> {
    const file = await this.get(caller, id);
    const expiresAt = Math.floor(this.#deps.clock.now() / 1000) + ttlSec;
    const token = signLink(this.#deps.linkSecret, { tenant: caller.tenant, fileId: id, expiresAt });
    return { file, token, expiresAt };
  }

  /** @throws ServiceError `file.not_found` for a wrong or expired token, as for a file that is gone */
  async openLink(id: FileId, token: string): Promise<FileRecord> {
    const grant = verifyLink(this.#deps.linkSecret, { fileId: id, token }, this.#deps.clock.now());
    const record = grant === null ? null : await this.#deps.files.get(grant.tenant, id);
    if (record === null) throw fileNotFound(id, "Links expire, and so do files: ask for a new link.");
    return record;
  }

  /**
   * Removes what is older than the retention (box §9.7), and bytes that no record needs.
   * @param createdBefore Unix milliseconds.
   * @returns how many files are gone
   */
  async removeExpired(createdBefore: number, options: CallOptions): Promise<number> {
    let removed = 0;
    for (;;) {
      options.signal.throwIfAborted();
      const expired = await this.#deps.files.listOlderThan(createdBefore, SWEEP_STEP);
      for (const record of expired) await this.#remove(record);
      removed += expired.length;
      if (expired.length < SWEEP_STEP) break;
    }
    const settled = this.#settledBefore();
    for await (const sha256 of this.#deps.blobs.list(settled, options)) await this.#removeBytes(sha256);
    return removed;
  }

  /** The record goes first: bytes without a record are harmless, a record without bytes is a lost file. */
  async #remove(record: FileRecord): Promise<void> {
    await this.#deps.files.remove(record.tenant, record.id);
    await this.#removeBytes(record.sha256);
  }

  /** Equal bytes are kept once: fresh ones may be about to get a record of somebody else, and wait for the next sweep. */
  async #removeBytes(sha256: string): Promise<void> {
    const settled = this.#settledBefore();
    if (await this.#deps.files.isReferenced(sha256)) return;
    await this.#deps.blobs.remove(sha256, settled);
  }

  #settledBefore(): number {
    return this.#deps.clock.now() - REGISTERED_WITHIN_MS;
  }
}

function fileNotFound(
  id: string,
  hint = "Files are kept for a limited time; list them with GET /v1/files.",
): ServiceError {
  return new ServiceError("file.not_found", `There is no file "${id.slice(0, 100)}".`, { hint });
}
