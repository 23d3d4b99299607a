/** Fetches attachments that are given as URLs into the blob store (box §7.3). */
import type { AttachmentSource } from "../domain/attachment.js";
import { ServiceError } from "../domain/errors.js";
import type { BlobStore } from "../ports/blob-store.js";
import type { CallOptions } from "../ports/options.js";
import type { OutboundFetch } from "../ports/outbound-fetch.js";

export interface FetchLimits {
  readonly maxFileBytes: number;
  /** For one URL, from the first look-up to the last byte. */
  readonly urlTimeoutMs: number;
}

export interface FetchedAttachment {
  readonly source: AttachmentSource;
  readonly fetched: { readonly name: string | null; readonly mimeType: string | null };
}

export interface FetchDeps {
  readonly blobs: BlobStore;
  readonly outbound: OutboundFetch;
}

interface WantedUrl {
  readonly index: number;
  readonly url: string;
}

/** URLs of one run that are fetched at the same time. */
const AT_ONCE = 4;

/**
 * @returns by index: a blob, or why there is none; one that fails does not touch the others
 * @throws the signal's reason
 */
export async function fetchAttachments(
  deps: FetchDeps,
  of: { readonly urls: readonly WantedUrl[]; readonly limits: FetchLimits },
  options: CallOptions,
): Promise<ReadonlyMap<number, FetchedAttachment>> {
  const fetched = new Map<number, FetchedAttachment>();
  const queue = of.urls.values();
  const work = async (): Promise<void> => {
    for (const { index, url } of queue)
      fetched.set(index, await fetchOne(deps, { url, limits: of.limits }, options));
  };
  await Promise.allSettled(Array.from({ length: AT_ONCE }, work));
  options.signal.throwIfAborted();
  return fetched;
}

async function fetchOne(
  deps: FetchDeps,
  of: { readonly url: string; readonly limits: FetchLimits },
  options: CallOptions,
): Promise<FetchedAttachment> {
  const { maxFileBytes, urlTimeoutMs } = of.limits;
  try {
    const limits = { maxBytes: maxFileBytes, timeoutMs: urlTimeoutMs };
    await using file = await deps.outbound.open(of.url, limits, options);
    await using staging = await deps.blobs.stage();
    for await (const bytes of file.bytes) await staging.write(bytes);
    const blob = await staging.commit();
    return { source: { kind: "blob", ...blob }, fetched: { name: file.name, mimeType: file.mimeType } };
  } catch (error) {
    options.signal.throwIfAborted();
    const reason = error instanceof ServiceError ? error.message : "It could not be fetched.";
    return { source: { kind: "refused", reason, sizeBytes: null }, fetched: { name: null, mimeType: null } };
  }
}
