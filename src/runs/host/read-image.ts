/** Bytes of an image attachment for a vision model, bounded (local-agent §4.4). */
import type { Attachment, AttachmentSource } from "../../domain/attachment.js";
import { toServiceError } from "../../domain/errors.js";
import type { BlobStore } from "../../ports/blob-store.js";
import type { CallOptions } from "../../ports/options.js";
import type { OutboundFetch } from "../../ports/outbound-fetch.js";
import type { ImageBytes } from "../../ports/run-host.js";

const FETCH_TIMEOUT_MS = 30_000;

export interface ReadImageDeps {
  readonly blobs: BlobStore;
  readonly outbound: OutboundFetch;
  readonly sniffMimeType: (name: string, head: Uint8Array) => Promise<string>;
}

/** @returns null when the bytes cannot be had, are too many, or are no image */
export async function readImage(
  deps: ReadImageDeps,
  of: { readonly attachment: Attachment; readonly source: AttachmentSource; readonly maxBytes: number },
  options: CallOptions,
): Promise<ImageBytes | null> {
  const bytes = await readBytes(deps, of.source, of.maxBytes, options);
  if (bytes === null) return null;
  const mimeType = await deps.sniffMimeType(of.attachment.name ?? "image", bytes);
  if (!mimeType.startsWith("image/")) return null;
  return { mimeType, base64: bytes.toString("base64"), sizeBytes: bytes.byteLength };
}

async function readBytes(
  deps: ReadImageDeps,
  source: AttachmentSource,
  maxBytes: number,
  options: CallOptions,
): Promise<Buffer | null> {
  switch (source.kind) {
    case "blob":
      if (source.sizeBytes > maxBytes) return null;
      return collect(deps.blobs.read(source.sha256, null, options));
    case "url":
      return fetchBytes(deps.outbound, source.url, maxBytes, options);
    case "refused":
      return null;
  }
}

async function fetchBytes(
  outbound: OutboundFetch,
  url: string,
  maxBytes: number,
  options: CallOptions,
): Promise<Buffer | null> {
  try {
    await using file = await outbound.open(url, { maxBytes, timeoutMs: FETCH_TIMEOUT_MS }, options);
    return await collect(file.bytes);
  } catch (error) {
    options.signal.throwIfAborted();
    const { code } = toServiceError(error);
    if (code.startsWith("outbound.") || code === "box.too_large") return null;
    throw error;
  }
}

/** The sources are bounded: blobs by the check of their size, URLs by the fetch itself. */
async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of chunks) parts.push(part);
  return Buffer.concat(parts);
}
