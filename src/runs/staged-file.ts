/** A file on its way in: nothing of it is visible before `commit`; disposing without it leaves nothing behind. */
import type { BlobStaging, StoredBlob } from "../ports/blob-store.js";
import type { CallOptions } from "../ports/options.js";
import { SNIFFED_BYTES } from "../ports/sniff-mime-type.js";

export class StagedFile implements AsyncDisposable {
  readonly #staging: BlobStaging;
  readonly #head: Uint8Array[] = [];
  #headBytes = 0;
  #sizeBytes = 0;

  constructor(staging: BlobStaging) {
    this.#staging = staging;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** The first bytes, enough to tell the type. */
  get head(): Uint8Array {
    return Buffer.concat(this.#head);
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#staging.write(bytes);
    this.#sizeBytes += bytes.byteLength;
    if (this.#headBytes >= SNIFFED_BYTES) return;
    const first = Uint8Array.from(bytes.subarray(0, SNIFFED_BYTES - this.#headBytes));
    this.#head.push(first);
    this.#headBytes += first.byteLength;
  }

  /** What was written so far, for bytes that only pass through. */
  read(options: CallOptions): AsyncIterable<Uint8Array> {
    return this.#staging.read(options);
  }

  async commit(): Promise<StoredBlob> {
    return this.#staging.commit();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#staging[Symbol.asyncDispose]();
  }
}
