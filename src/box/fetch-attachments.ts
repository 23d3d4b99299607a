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

/** A source that needs no fetching any more. */
export type SettledSource = Exclude<AttachmentSource, { readonly kind: "url" }>;

export interface Fetched {
  readonly source: SettledSource;
  /** What the server said of the file; null where nothing was fetched or said. */
  readonly name: string | null;
  readonly mimeType: string | null;
}

export interface FetchDeps {
  readonly blobs: BlobStore;
  readonly outbound: OutboundFetch;
}

/** URLs of one run that are fetched at the same time. */
const AT_ONCE = 4;

/**
 * Settles every source: what is a URL becomes a blob, or a refusal with its reason; one does not touch the others.
 * @returns one for each item, in order of `index`
 * @throws the signal's reason
 */
export async function fetchAttachments<
  Item extends { readonly index: number; readonly source: AttachmentSource },
>(
  deps: FetchDeps,
  of: { readonly items: readonly Item[]; readonly limits: FetchLimits },
  options: CallOptions,
): Promise<readonly { readonly item: Item; readonly fetched: Fetched }[]> {
  const settled: { readonly item: Item; readonly fetched: Fetched }[] = [];
  const queue = of.items.values();
  const work = async (): Promise<void> => {
    for (const item of queue) {
      const { source } = item;
      const fetched =
        source.kind === "url"
          ? await fetchOne(deps, { url: source.url, limits: of.limits }, options)
          : { source, name: null, mimeType: null };
      settled.push({ item, fetched });
    }
  };
  await Promise.allSettled(Array.from({ length: AT_ONCE }, work));
  options.signal.throwIfAborted();
  return settled.toSorted((one, other) => one.item.index - other.item.index);
}

async function fetchOne(
  deps: FetchDeps,
  of: { readonly url: string; readonly limits: FetchLimits },
  options: CallOptions,
): Promise<Fetched> {
  const { maxFileBytes, urlTimeoutMs } = of.limits;
  try {
    const limits = { maxBytes: maxFileBytes, timeoutMs: urlTimeoutMs };
    await using file = await deps.outbound.open(of.url, limits, options);
    await using staging = await deps.blobs.stage();
    for await (const bytes of file.bytes) await staging.write(bytes);
    const blob = await staging.commit();
    return { source: { kind: "blob", ...blob }, name: file.name, mimeType: file.mimeType };
  } catch (error) {
    options.signal.throwIfAborted();
    const reason = error instanceof ServiceError ? error.message : "It could not be fetched.";
    return { source: { kind: "refused", reason, sizeBytes: null }, name: null, mimeType: null };
  }
}
