/** Answers with the bytes of a file: ranges, entity tag, and headers under which nothing is ever rendered (api §3, security §10). */
import type { Request, Response } from "express";
import type { FileRecord } from "../domain/delivery.js";
import { ServiceError } from "../domain/errors.js";
import type { ByteRange, FileService } from "../runs/file-service.js";
import { attachmentHeader } from "./content-disposition.js";
import { sendBytes } from "./send-bytes.js";

/** Types that no browser executes; everything else goes out as opaque bytes. */
const SAFE_TYPES = new Set([
  "application/json",
  "application/pdf",
  "application/zip",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  "audio/aac",
  "audio/amr",
  "audio/mpeg",
  "audio/ogg",
  "audio/wav",
  "image/bmp",
  "image/gif",
  "image/jpeg",
  "image/png",
  "image/webp",
  "text/csv",
  "text/plain",
  "video/mp4",
  "video/webm",
]);

export function servedType(mimeType: string): string {
  const [type = ""] = mimeType.toLowerCase().split(";");
  return SAFE_TYPES.has(type.trim()) ? type.trim() : "application/octet-stream";
}

export async function sendFile(
  files: Pick<FileService, "read" | "markSent">,
  file: FileRecord,
  exchange: { readonly request: Request; readonly response: Response; readonly signal: AbortSignal },
): Promise<void> {
  const { request, response, signal } = exchange;
  setFileHeaders(response, file);
  if (isKnown(request, file)) {
    response.status(304).end();
    return;
  }
  const range = readRange(request, response, file);
  const sentBytes = range === null ? file.sizeBytes : range.end - range.start + 1;
  response.setHeader("Content-Length", sentBytes);
  if (range !== null) {
    response.status(206);
    response.setHeader("Content-Range", `bytes ${range.start}-${range.end}/${file.sizeBytes}`);
  }
  if (request.method === "HEAD" || sentBytes === 0) {
    response.end();
    return;
  }
  for await (const bytes of files.read(file, range, { signal })) {
    await sendBytes(response, bytes);
    if (response.destroyed) return;
  }
  response.end();
  if (range === null) await files.markSent(file);
}

function setFileHeaders(response: Response, file: FileRecord): void {
  // Set by hand: express would add a character set to the type.
  response.setHeader("Content-Type", servedType(file.mimeType));
  response.setHeader("Content-Disposition", attachmentHeader(file.name));
  response.setHeader("ETag", `"${file.sha256}"`);
  response.setHeader("Accept-Ranges", "bytes");
  response.setHeader("Cache-Control", "private, no-store");
  response.setHeader("Content-Security-Policy", "sandbox; default-src 'none'");
  response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
  response.setHeader("Referrer-Policy", "no-referrer");
  response.setHeader("X-Content-Type-Options", "nosniff");
}

/** `fresh` of express would look at Cache-Control, too, and clients say no-cache when they ask by tag. */
function isKnown(request: Request, file: FileRecord): boolean {
  const given = (request.get("if-none-match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return given.some((tag) => tag === "*" || tag === `"${file.sha256}"`);
}

/**
 * One range is served; several, and such that cannot be read, count as none (RFC 9110).
 * @throws ServiceError `file.range_invalid` for a range behind the end
 */
function readRange(request: Request, response: Response, file: FileRecord): ByteRange | null {
  const condition = request.get("if-range");
  if (condition !== undefined && condition !== `"${file.sha256}"`) return null;
  const ranges = request.range(file.sizeBytes, { combine: true });
  if (ranges === -1) {
    response.setHeader("Content-Range", `bytes */${file.sizeBytes}`);
    throw new ServiceError(
      "file.range_invalid",
      `The file has ${file.sizeBytes} bytes; the range begins behind its end.`,
      { hint: "Ask for a range that begins below this size." },
    );
  }
  if (ranges === undefined || ranges === -2 || ranges.type !== "bytes") return null;
  const [first, ...others] = ranges;
  return first === undefined || others.length > 0 ? null : { start: first.start, end: first.end };
}
