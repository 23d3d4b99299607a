/** Bodies and queries of the file routes, in the shape of OpenAI Files (api §3). */
import { z } from "zod";
import type { FileRecord } from "../../domain/delivery.js";
import { fileIdSchema } from "../../domain/ids.js";
import { LINK_TTL } from "../../runs/signed-link.js";

const purpose = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,64}$/, "1 to 64 letters, digits, dots, underscores and dashes");

export const uploadFieldsSchema = z.strictObject({
  purpose: purpose.default("user_data"),
});

export const uploadFormSchema = z
  .strictObject({ file: z.string().meta({ format: "binary" }), purpose: purpose.default("user_data") })
  .meta({ id: "UploadForm" });

export const listFilesQuery = z.strictObject({
  purpose: purpose.optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  after: fileIdSchema.optional().meta({ description: "Id of the last file of the page before." }),
  order: z.literal("desc").default("desc").meta({ description: "Newest first; there is no other order." }),
});

export const linkQuery = z.strictObject({
  ttl_sec: z.coerce.number().int().min(1).max(LINK_TTL.max).default(LINK_TTL.default),
});

export const tokenQuery = z.strictObject({ token: z.string().max(2000).default("") });

export const fileSchema = z
  .object({
    id: fileIdSchema,
    object: z.literal("file"),
    bytes: z.int().nonnegative(),
    created_at: z.int().meta({ description: "Unix seconds." }),
    filename: z.string(),
    purpose: z.string(),
    status: z.literal("processed"),
    mime_type: z.string(),
    sha256: z.string(),
  })
  .meta({ id: "File" });

export const fileListSchema = z
  .object({
    object: z.literal("list"),
    data: z.array(fileSchema),
    has_more: z.boolean(),
    first_id: fileIdSchema.nullable(),
    last_id: fileIdSchema.nullable(),
  })
  .meta({ id: "FileList" });

export const deletedFileSchema = z
  .object({ id: fileIdSchema, object: z.literal("file"), deleted: z.literal(true) })
  .meta({ id: "DeletedFile" });

export const linkSchema = z
  .object({ url: z.string(), expires_at: z.string().meta({ description: "RFC 3339 UTC." }) })
  .meta({ id: "FileLink" });

export function toFileObject(record: FileRecord): z.infer<typeof fileSchema> {
  return {
    id: record.id,
    object: "file",
    bytes: record.sizeBytes,
    created_at: Math.floor(record.createdAt / 1000),
    filename: record.name,
    purpose: record.purpose,
    status: "processed",
    mime_type: record.mimeType,
    sha256: record.sha256,
  };
}
