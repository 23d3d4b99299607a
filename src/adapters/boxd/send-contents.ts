/** Streams the bytes of a write request into the box, file after file, and holds every file to its announced length. */
import { ServiceError } from "../../domain/errors.js";
import type { WriteRequest } from "../../ports/box-handle.js";
import type { FileRequest } from "./file-request.js";

/** How many files of a request were answered. */
export class AnswerCount {
  #count = 0;
  #isOver = false;
  #waiting: Array<() => void> = [];

  add(): void {
    this.#count += 1;
    this.#wake();
  }

  /** No more answers come. */
  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  /** Resolves when so many were answered, or no more answers come. */
  async reach(count: number): Promise<void> {
    while (this.#count < count && !this.#isOver)
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
  }

  #wake(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }
}

/**
 * A content that fails or has another length than announced takes the request back: nothing of its file is left behind,
 * the files before it stay.
 * @param answered counts what the box has answered meanwhile
 * @throws what the content threw; ServiceError `box.validation` for another length
 */
export async function sendContents(
  request: FileRequest,
  writes: readonly WriteRequest[],
  answered: AnswerCount,
): Promise<void> {
  let sentFiles = 0;
  try {
    for (const write of writes) {
      await sendContent(request, write);
      await request.endContent();
      sentFiles += 1;
    }
  } catch (error) {
    request.resume();
    await answered.reach(sentFiles);
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
