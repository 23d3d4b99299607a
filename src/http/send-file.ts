/** Answers with the bytes of a file: ranges, entity tag, and headers under which nothing is ever rendered (api §3, security §10). */
import type { Request, Response } from "express";
import type { FileRecord } from "../domain/delivery.js";
import { ServiceError } from "../domain/errors.js";
import type { CallOptions } from "../ports/options.js";
import type { ByteRange, FileService } from "../runs/file-service.js";
import { attachmentHeader } from "./content-disposition.js";
import type { Exchange } from "./route.js";
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

/** What a client downloads. */
export interface Download {
  /** Not yet cleaned. */
  readonly name: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  /** Equal only for equal bytes; letters and digits. */
  readonly tag: string;
  /** Exactly the bytes of the range; null = all. */
  read(range: ByteRange | null, options: CallOptions): AsyncIterable<Uint8Array>;
}

type DownloadExchange = Pick<Exchange, "request" | "response" | "signal">;

/** Sends a stored file. A delivery that was sent as a whole counts as sent. */
export async function sendFile(
  files: Pick<FileService, "read" | "markSent">,
  file: FileRecord,
  exchange: DownloadExchange,
): Promise<void> {
  const { name, mimeType, sizeBytes, sha256 } = file;
  const read: Download["read"] = (range, options) => files.read(file, range, options);
  const isWhole = await sendDownload({ name, mimeType, sizeBytes, tag: sha256, read }, exchange);
  if (isWhole) await files.markSent(file);
}

/** @returns whether the client has got every byte */
export async function sendDownload(download: Download, exchange: DownloadExchange): Promise<boolean> {
  const { request, response, signal } = exchange;
  setDownloadHeaders(response, download);
  if (isKnown(request, download)) {
    response.status(304).end();
    return false;
  }
  const range = readRange(request, response, download);
  const sentBytes = range === null ? download.sizeBytes : range.end - range.start + 1;
  response.setHeader("Content-Length", sentBytes);
  if (range !== null) {
    response.status(206);
    response.setHeader("Content-Range", `bytes ${range.start}-${range.end}/${download.sizeBytes}`);
  }
  if (request.method === "HEAD" || sentBytes === 0) {
    response.end();
    return false;
  }
  for await (const bytes of download.read(range, { signal })) {
    await sendBytes(response, bytes);
    if (response.destroyed) return false;
  }
  response.end();
  return range === null;
}

function setDownloadHeaders(response: Response, { name, mimeType, tag }: Download): void {
  // Set by hand: express would add a character set to the type.
  response.setHeader("Content-Type", servedType(mimeType));
  response.setHeader("Content-Disposition", attachmentHeader(name));
  response.setHeader("ETag", `"${tag}"`);
  response.setHeader("Accept-Ranges", "bytes");
  response.setHeader("Cache-Control", "private, no-store");
  response.setHeader("Content-Security-Policy", "sandbox; default-src 'none'");
  response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
  response.setHeader("Referrer-Policy", "no-referrer");
  response.setHeader("X-Content-Type-Options", "nosniff");
}

/** `fresh` of express would look at Cache-Control, too, and clients say no-cache when they ask by tag. */
function isKnown(request: Request, file: Download): boolean {
  const given = (request.get("if-none-match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return given.some((tag) => tag === "*" || tag === `"${file.tag}"`);
}

/**
 * One range is served; several, and such that cannot be read, count as none (RFC 9110).
 * @throws ServiceError `file.range_invalid` for a range behind the end
 */
function readRange(request: Request, response: Response, file: Download): ByteRange | null {
  const condition = request.get("if-range");
  if (condition !== undefined && condition !== `"${file.tag}"`) return null;
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
