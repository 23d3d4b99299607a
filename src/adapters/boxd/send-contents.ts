/** Streams the bytes of a write request into the box, file after file, and holds every file to its announced length. */
import { ServiceError } from "../../domain/errors.js";
import type { WriteRequest } from "../../ports/box-handle.js";
import type { FileRequest } from "./file-request.js";

/**
 * A content that fails or has another length than announced takes the request back: nothing of its file is left behind,
 * the files before it stay.
 * @throws what the content threw; ServiceError `box.validation` for another length
 */
export async function sendContents(request: FileRequest, writes: readonly WriteRequest[]): Promise<void> {
  try {
    for (const write of writes) {
      await sendContent(request, write);
      await request.endContent();
    }
  } catch (error) {
    request.cancel();
    await request.over();
    throw error;
  } finally {
    request.resume();
  }
}

async function sendContent(request: FileRequest, write: WriteRequest): Promise<void> {
  let sentBytes = 0;
  request.pause();
  for await (const bytes of write.content) {
    request.resume();
    sentBytes += bytes.length;
    if (sentBytes > write.sizeBytes) break;
    await request.sendContent(bytes);
    request.pause();
  }
  request.resume();
  if (sentBytes === write.sizeBytes) return;
  const amount = sentBytes > write.sizeBytes ? "more" : `${sentBytes}`;
  throw new ServiceError(
    "box.validation",
    `The content of ${JSON.stringify(write.path)} has ${amount} bytes where ${write.sizeBytes} were announced.`,
  );
}
