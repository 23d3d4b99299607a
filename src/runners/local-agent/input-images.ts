/** Which images of the input are sent as images, within the limits of one request (local-agent §4.4). */
import type { Attachment } from "../../domain/attachment.js";
import type { CallOptions } from "../../ports/options.js";
import type { ImportedAttachment, RunHost } from "../../ports/run-host.js";

const MAX_IMAGES = 8;
const MIB = 1024 * 1024;
const MAX_IMAGE_BYTES = 5 * MIB;
const MAX_TOTAL_BYTES = 10 * MIB;
/** What models of the chat-completions protocol read. */
const MODEL_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export interface InputImages {
  /** Data addresses by attachment reference. */
  readonly urls: ReadonlyMap<string, string>;
  /** What stands for an image where a model cannot see it, by data address. */
  readonly notes: ReadonlyMap<string, string>;
}

export async function readInputImages(
  attachments: readonly Attachment[],
  { host, imported }: { readonly host: RunHost; readonly imported: readonly ImportedAttachment[] },
  options: CallOptions,
): Promise<InputImages> {
  const urls = new Map<string, string>();
  const notes = new Map<string, string>();
  let totalBytes = 0;
  for (const attachment of attachments) {
    if (attachment.type !== "image" || urls.size >= MAX_IMAGES) continue;
    const room = Math.min(MAX_IMAGE_BYTES, MAX_TOTAL_BYTES - totalBytes);
    if (room <= 0) break;
    const image = await host.readImage(attachment.reference, room, options);
    if (image === null || image.sizeBytes > room || !MODEL_TYPES.has(image.mimeType)) continue;
    totalBytes += image.sizeBytes;
    const url = `data:${image.mimeType};base64,${image.base64}`;
    urls.set(attachment.reference, url);
    notes.set(url, imageNote(attachment, imported));
  }
  return { urls, notes };
}

/** Path, type and size, as far as they are known. */
export function imageNote(attachment: Attachment, imported: readonly ImportedAttachment[]): string {
  const copy = imported.find(({ reference }) => reference === attachment.reference);
  const size = copy?.bytes ?? attachment.size;
  const facts = [
    copy?.path ?? attachment.name ?? attachment.reference,
    copy?.mime_type ?? attachment.mime_type ?? "unknown type",
    ...(size === null ? [] : [`${size} bytes`]),
  ];
  return `[image not shown: ${facts.join(", ")}]`;
}
