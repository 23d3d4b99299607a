/** Streams the bytes of a write request into the box, file after file, and holds every file to its announced length. */
import { ServiceError } from "../../domain/errors.js";
import type { WriteRequest } from "../../ports/box-handle.js";
import { TO_WORKER } from "./frame-codec.js";
import type { WorkerRequest } from "./worker-request.js";

const PIECE_BYTES = 64 * 1024;

/**
 * A content that fails or has another length than announced leaves nothing of its file behind and ends the request;
 * the files before it stay.
 * @throws what the content threw; ServiceError `box.validation` for another length
 */
export async function sendContents(request: WorkerRequest, writes: readonly WriteRequest[]): Promise<void> {
  for (const [index, write] of writes.entries()) {
    try {
      await sendContent(request, index, write);
    } catch (error) {
      await request.send(TO_WORKER.discard, index).catch(() => undefined);
      throw error;
    } finally {
      request.resume();
    }
    await request.send(TO_WORKER.end, index);
  }
}

async function sendContent(request: WorkerRequest, index: number, write: WriteRequest): Promise<void> {
  let sentBytes = 0;
  request.pause();
  for await (const bytes of write.content) {
    request.resume();
    sentBytes += bytes.length;
    if (sentBytes > write.sizeBytes) break;
    for (let start = 0; start < bytes.length; start += PIECE_BYTES)
      await request.send(TO_WORKER.data, index, bytes.subarray(start, start + PIECE_BYTES));
    request.pause();
  }
  if (sentBytes === write.sizeBytes) return;
  const amount = sentBytes > write.sizeBytes ? "more" : `${sentBytes}`;
  throw new ServiceError(
    "box.validation",
    `The content of ${JSON.stringify(write.path)} has ${amount} bytes where ${write.sizeBytes} were announced.`,
  );
}
