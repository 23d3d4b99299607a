/** A piece of a file by its place in bytes: base64, or text cut between characters (box §13.1). */
import { Utf8Text } from "../../lib/utf8-text.js";
import type { BoxFiles } from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import type { ToolEvent } from "../../ports/tool.js";
import { describeFault } from "../box-path.js";
import { failure, success } from "../define-tool.js";
import { detectBinary } from "./file-signature.js";
import { type ReadPlan, refuseBinary } from "./read-plan.js";
import { readPieces } from "./read-stream.js";

/** Bytes of the longest UTF-8 sequence: a smaller piece could hold no character at all. */
const LONGEST_CHARACTER = 4;

/** @returns null where the path is no regular file */
export async function readBytes(
  plan: ReadPlan,
  files: BoxFiles,
  options: CallOptions,
): Promise<ToolEvent | null> {
  const pieces: Uint8Array[] = [];
  const sink = (bytes: Uint8Array): boolean => pieces.push(bytes) > 0;
  const length = Math.max(plan.maxBytes, LONGEST_CHARACTER);
  const request = { path: plan.path, offset: plan.byteOffset, length };
  const reading = await readPieces(files, { request, sink }, options);
  if (!reading.ok && reading.fault === "not_regular") return null;
  if (!reading.ok) return failure(describeFault(plan.path, reading.fault));
  const { sizeBytes } = reading.entry;
  if (plan.byteOffset > sizeBytes)
    return failure(
      `byte_offset ${plan.byteOffset} is behind the end of ${JSON.stringify(plan.path)}: it has ${sizeBytes} bytes.`,
    );
  const bytes = Buffer.concat(pieces);
  const binary = plan.encoding === "text" ? detectBinary(bytes, plan.path) : null;
  if (binary !== null) return refuseBinary(plan.path, sizeBytes, binary);
  return success(describePiece(plan, bytes, sizeBytes));
}

function describePiece(plan: ReadPlan, bytes: Buffer, sizeBytes: number): Readonly<Record<string, unknown>> {
  const encoded =
    plan.encoding === "base64" ? encodePiece(bytes) : decodePiece(bytes, plan.byteOffset, sizeBytes);
  const { content, length, ...flags } = encoded;
  const next = plan.byteOffset + length;
  return {
    ok: true,
    path: plan.path,
    content,
    encoding: plan.encoding,
    byte_offset: plan.byteOffset,
    length,
    size_bytes: sizeBytes,
    has_more: next < sizeBytes,
    next_byte_offset: next < sizeBytes ? next : null,
    ...flags,
  };
}

interface EncodedPiece {
  readonly content: string;
  /** Bytes of the file that the content stands for. */
  readonly length: number;
  readonly invalid_utf8?: true;
}

function encodePiece(bytes: Buffer): EncodedPiece {
  return { content: bytes.toString("base64"), length: bytes.length };
}

function decodePiece(bytes: Buffer, byteOffset: number, sizeBytes: number): EncodedPiece {
  const reader = new Utf8Text();
  const whole = reader.push(bytes);
  const hasMore = byteOffset + bytes.length < sizeBytes;
  const length = hasMore ? bytes.length - reader.pendingBytes : bytes.length;
  const content = hasMore ? whole : whole + reader.end();
  return { content, length, ...(reader.isValid ? {} : { invalid_utf8: true }) };
}
