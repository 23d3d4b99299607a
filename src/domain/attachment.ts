/** A file that came with an event, from its description to its place in the inbox (runs §11.2, box §7). */
import { z } from "zod";

export const attachmentTypeSchema = z.enum(["image", "voice", "file"]);
export type AttachmentType = z.infer<typeof attachmentTypeSchema>;

/**
 * What the context says about an attachment: where it came from, never its bytes. The host keeps those, and `reference`
 * is how a runner asks for them.
 */
export const attachmentSchema = z.object({
  /** `attachment-0`, `attachment-1`, … in the order of the metadata (box §7.2). */
  reference: z.string(),
  type: attachmentTypeSchema,
  source: z.enum(["url", "base64", "upload", "message_chain"]),
  url: z.string().nullable(),
  id: z.string().nullable(),
  name: z.string().nullable(),
  mime_type: z.string().nullable(),
  size: z.number().int().nonnegative().nullable(),
  /** Set by the import only; a path from outside is dropped. */
  path: z.string().nullable(),
});
export type Attachment = z.infer<typeof attachmentSchema>;

/** What became of one attachment; part of the run object (api §2). */
export const attachmentOutcomeSchema = z.object({
  index: z.number().int().nonnegative(),
  name: z.string(),
  path: z.string().nullable(),
  bytes: z.number().int().nonnegative().nullable(),
  mime_type: z.string().nullable(),
  state: z.enum(["pending", "imported", "refused"]),
  reason: z.string().nullable(),
});
export type AttachmentOutcome = z.infer<typeof attachmentOutcomeSchema>;

/** Where the bytes of an attachment are to be had; kept by the host with the run, never shown to a runner. */
export const attachmentSourceSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("blob"), sha256: z.string(), sizeBytes: z.number().int().nonnegative() }),
  z.object({ kind: z.literal("url"), url: z.string() }),
  /** Refused before it was stored (too large, broken base64): the reason is told, the run goes on. */
  z.object({ kind: z.literal("refused"), reason: z.string(), sizeBytes: z.number().int().nullable() }),
]);
export type AttachmentSource = z.infer<typeof attachmentSourceSchema>;
