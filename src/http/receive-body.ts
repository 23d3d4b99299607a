/** Takes a raw body into a staged file: exact bytes, counted as they come, never in memory (api §1.6). */
import type { Request } from "express";
import { ServiceError } from "../domain/errors.js";
import type { FileService } from "../runs/file-service.js";
import type { StagedFile } from "../runs/staged-file.js";

/**
 * @returns a file the caller disposes of
 * @throws ServiceError `request.too_large` naming limit and bytes seen, `request.unsupported_media_type` for a body
 *   that is packed, `request.invalid` for one that breaks off
 */
export async function receiveBody(
  request: Request,
  files: Pick<FileService, "stage">,
  limitBytes: number,
): Promise<StagedFile> {
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity")
    throw new ServiceError("request.unsupported_media_type", "The body here is taken as it is, not packed.", {
      param: "Content-Encoding",
      hint: "Send it without Content-Encoding.",
    });
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > limitBytes) throw tooLarge(limitBytes, `${announced} bytes`);
  const staged = await files.stage();
  try {
    await receive(request, staged, limitBytes);
    return staged;
  } catch (error) {
    await staged[Symbol.asyncDispose]();
    throw error instanceof ServiceError || !request.destroyed ? error : brokenOff(error);
  }
}

async function receive(request: Request, staged: StagedFile, limitBytes: number): Promise<void> {
  // Leaving the loop must not cut the connection: the refusal still goes out on it.
  const pieces: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  for await (const piece of pieces) {
    const seen = staged.sizeBytes + piece.byteLength;
    if (seen > limitBytes) throw tooLarge(limitBytes, `at least ${seen} bytes`);
    await staged.write(piece);
  }
}

function tooLarge(limitBytes: number, seen: string): ServiceError {
  return new ServiceError("request.too_large", `A file may have ${limitBytes} bytes; ${seen} came.`, {
    hint: "Send a smaller file, or make it in the box.",
    details: { limitBytes },
  });
}

function brokenOff(cause: unknown): ServiceError {
  return new ServiceError("request.invalid", "The body ended before its announced length.", { cause });
}
