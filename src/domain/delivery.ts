/** One captured file on its way to the user (box §8, §9). */
import { z } from "zod";
import { type FileId, fileIdSchema, type RunId } from "./ids.js";

export const deliveryStateSchema = z.enum(["pending", "sent", "acked", "failed", "unknown"]);
export type DeliveryState = z.infer<typeof deliveryStateSchema>;
export const deliveryKindSchema = z.enum(["image", "voice", "file"]);
export type DeliveryKind = z.infer<typeof deliveryKindSchema>;

/** As the run object shows it (api §2). */
export const deliverySchema = z.object({
  id: fileIdSchema,
  name: z.string(),
  kind: deliveryKindSchema,
  mime_type: z.string(),
  bytes: z.number().int().nonnegative(),
  sha256: z.string(),
  url: z.string(),
  state: deliveryStateSchema,
});
export type Delivery = z.infer<typeof deliverySchema>;

/** A file of a tenant: a delivery of a run, or an upload (then `runId` is null). Bytes lie in the blob store. */
export interface FileRecord {
  readonly id: FileId;
  readonly tenant: string;
  readonly runId: RunId | null;
  readonly purpose: string;
  readonly name: string;
  readonly kind: DeliveryKind;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  /** Path in the box it was exported from; null for uploads. */
  readonly sourcePath: string | null;
  readonly state: DeliveryState;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

const IMAGE = new Set(["png", "jpg", "jpeg", "gif", "webp", "bmp"]);
const VOICE = new Set(["wav", "mp3", "silk", "amr", "ogg", "m4a", "aac"]);

/** Kind by extension (box §8.10). */
export function deliveryKind(name: string): DeliveryKind {
  const extension = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  if (IMAGE.has(extension)) return "image";
  return VOICE.has(extension) ? "voice" : "file";
}
