/** Contents of a message as the runs feature takes them (runs §11.1, box §7.3). */
import type { AttachmentType } from "../domain/attachment.js";
import { ServiceError } from "../domain/errors.js";
import { fileIdSchema } from "../domain/ids.js";
import type { IncomingContent, IncomingSource } from "../runs/run-request.js";
import type { Content } from "./schemas/run-bodies.js";

type AttachedContent = Exclude<Content, { type: "text" }>;

/** @throws ServiceError `file.not_found` for a file id that cannot be one */
export function toIncoming(content: Content): IncomingContent {
  if (content.type === "text") return { type: "text", text: content.text };
  const { name, mime_type: mimeType } = content;
  const kind = KINDS[content.type] ?? attachmentKind(mimeType);
  return { type: "attachment", kind, name, mimeType, source: toSource(content) };
}

/** Kind of a file whose content item does not say it. */
export function attachmentKind(mimeType: string | null): AttachmentType {
  if (mimeType?.startsWith("image/")) return "image";
  return mimeType?.startsWith("audio/") ? "voice" : "file";
}

/** Null: the type of the file decides. */
const KINDS: Readonly<Record<AttachedContent["type"], AttachmentType | null>> = {
  file_base64: "file",
  file_url: "file",
  file_id: null,
  image_base64: "image",
  image_url: "image",
  voice_base64: "voice",
  voice_url: "voice",
};

function toSource(content: AttachedContent): IncomingSource {
  if ("data" in content) return { kind: "base64", data: content.data };
  if (!("url" in content)) return readFileId(content.file_id);
  // A data URI carries its bytes with it.
  return /^data:/i.test(content.url)
    ? { kind: "base64", data: content.url }
    : { kind: "url", url: content.url };
}

function readFileId(text: string): IncomingSource {
  const id = fileIdSchema.safeParse(text);
  if (id.success) return { kind: "file", fileId: id.data };
  throw new ServiceError("file.not_found", `There is no file "${text.slice(0, 100)}".`, {
    param: "input.contents",
  });
}
