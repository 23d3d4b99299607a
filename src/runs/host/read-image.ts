/** Bytes of an image attachment for a vision model, bounded (local-agent §4.4). */
import type { Attachment, AttachmentSource } from "../../domain/attachment.js";
import { type ErrorCode, toServiceError } from "../../domain/errors.js";
import type { BlobStore } from "../../ports/blob-store.js";
import type { CallOptions } from "../../ports/options.js";
import type { OutboundFetch } from "../../ports/outbound-fetch.js";
import type { ImageBytes } from "../../ports/run-host.js";
import type { SniffMimeType } from "../../ports/sniff-mime-type.js";

const FETCH_TIMEOUT_MS = 30_000;

export interface ReadImageDeps {
  readonly blobs: BlobStore;
  readonly outbound: OutboundFetch;
  readonly sniffMimeType: SniffMimeType;
}

export interface ImageRequest {
  readonly attachment: Attachment;
  readonly source: AttachmentSource;
  readonly maxBytes: number;
}

/** @returns null when the bytes cannot be had, are too many, or are no image */
export async function readImage(
  deps: ReadImageDeps,
  image: ImageRequest,
  options: CallOptions,
): Promise<ImageBytes | null> {
  const bytes = await readBytes(deps, image, options);
  if (bytes === null) return null;
  const mimeType = await deps.sniffMimeType(image.attachment.name ?? "image", bytes);
  if (!mimeType.startsWith("image/")) return null;
  return { mimeType, base64: bytes.toString("base64"), sizeBytes: bytes.byteLength };
}

async function readBytes(
  { blobs, outbound }: ReadImageDeps,
  { source, maxBytes }: ImageRequest,
  options: CallOptions,
): Promise<Buffer | null> {
  if (source.kind === "refused" || (source.kind === "blob" && source.sizeBytes > maxBytes)) return null;
  try {
    if (source.kind === "blob") return await collect(blobs.read(source.sha256, null, options));
    const limits = { maxBytes, timeoutMs: FETCH_TIMEOUT_MS };
    await using file = await outbound.open(source.url, limits, options);
    return await collect(file.bytes);
  } catch (error) {
    options.signal.throwIfAborted();
    if (isNotToBeHad(toServiceError(error).code)) return null;
    throw error;
  }
}

function isNotToBeHad(code: ErrorCode): boolean {
  return code.startsWith("outbound.") || code === "box.too_large" || code === "file.not_found";
}

/** The sources are bounded: blobs by the check of their size, URLs by the fetch itself. */
async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of chunks) parts.push(part);
  return Buffer.concat(parts);
}
