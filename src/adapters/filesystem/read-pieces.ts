/** Reads a part of an open file, piece after piece, never more than one in memory. */
import type { FileHandle } from "node:fs/promises";
import { ServiceError } from "../../domain/errors.js";
import type { CallOptions } from "../../ports/options.js";

/** Bytes that come out in one piece of a read. */
const PIECE_BYTES = 65_536;

/**
 * @param part first byte, and the byte behind the last one
 * @throws ServiceError `internal` when the file ends before the part does
 */
export async function* readPieces(
  file: FileHandle,
  part: { readonly start: number; readonly stop: number },
  options: CallOptions,
): AsyncGenerator<Uint8Array, void> {
  let position = part.start;
  while (position < part.stop) {
    options.signal.throwIfAborted();
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, part.stop - position));
    const { bytesRead } = await file.read(piece, 0, piece.byteLength, position);
    if (bytesRead === 0) throw new ServiceError("internal", "A stored file is shorter than it was.");
    position += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}
