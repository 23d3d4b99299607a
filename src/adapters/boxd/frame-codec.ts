/**
 * Frames between the service and the helper: payload length (4 bytes), request id (4), type (1), flags (1), zero (2), all
 * little-endian, then the payload. Pure. Lengths, types and flags of what comes are checked, nothing else is believed.
 */

import { ServiceError } from "../../domain/errors.js";
import { type BegunFrame, FrameAssembler } from "../../lib/frame-assembler.js";
import {
  type AskType,
  FLAG_MORE,
  HEADER_BYTES,
  HEAR,
  type HearType,
  MAX_PAYLOAD_BYTES,
  type SayType,
} from "./protocol.js";

export interface BoxdFrame {
  readonly type: HearType;
  readonly id: number;
  readonly payload: Uint8Array;
}

const TYPE_AT = 8;
const FLAGS_AT = 9;
const KNOWN_TYPES: ReadonlyMap<number, HearType> = new Map(Object.values(HEAR).map((type) => [type, type]));
/** Payloads below share memory; one that is kept keeps at most 8 KiB with it. */
const POOLED_BYTES = 1024;
const EMPTY: Uint8Array = new Uint8Array(0);

/** The helper broke the protocol; nothing it says after that means anything, so what was under way has no known outcome. */
export function helperFault(message: string): ServiceError {
  return new ServiceError("box.engine_unavailable", message, {
    hint: "The outcome is unknown: look at the files in the box before trying again.",
  });
}

/** One frame. @param payload at most 64 KiB */
export function encodeFrame(type: SayType | AskType | HearType, id: number, payload = EMPTY): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  writeHeader(frame, { type, id, length: payload.length });
  frame.set(payload, HEADER_BYTES);
  return frame;
}

/** The beginning of a frame whose payload goes out behind it as it is. */
export function encodeHeader(type: SayType, id: number, length: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  writeHeader(header, { type, id, length });
  return header;
}

function writeHeader(
  frame: Buffer,
  { type, id, length }: { readonly type: number; readonly id: number; readonly length: number },
): void {
  frame.writeUInt32LE(length, 0);
  frame.writeUInt32LE(id, 4);
  frame.writeUInt8(type, TYPE_AT);
  frame.writeUInt8(0, FLAGS_AT);
  frame.writeUInt16LE(0, 10);
}

/** A request of any size, in as many frames as it takes; they must go out without another one between them. */
export function encodeRequest(type: AskType, id: number, body: Uint8Array): Buffer {
  const frames: Buffer[] = [];
  for (let start = 0; start === 0 || start < body.length; start += MAX_PAYLOAD_BYTES) {
    const end = start + MAX_PAYLOAD_BYTES;
    const frame = encodeFrame(type, id, body.subarray(start, end));
    if (end < body.length) frame.writeUInt8(FLAG_MORE, FLAGS_AT);
    frames.push(frame);
  }
  return frames.length === 1 ? (frames[0] ?? Buffer.alloc(0)) : Buffer.concat(frames);
}

/** Reads what a helper sends; a header that no honest helper sends throws a ServiceError. */
export function createFrameDecoder(): FrameAssembler<BoxdFrame & BegunFrame> {
  return new FrameAssembler(HEADER_BYTES, beginFrame);
}

/** Not cleared, because a payload is filled to its end before anybody sees it. */
function allocate(length: number): Buffer {
  return length < POOLED_BYTES ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length);
}

function beginFrame(header: Buffer): BoxdFrame & BegunFrame {
  const length = header.readUInt32LE(0);
  const type = KNOWN_TYPES.get(header.readUInt8(TYPE_AT));
  if (type === undefined) throw helperFault(`The box sent a frame of type ${header.readUInt8(TYPE_AT)}.`);
  if (header.readUInt8(FLAGS_AT) !== 0 || header.readUInt16LE(10) !== 0)
    throw helperFault("The box sent a frame with flags that nobody knows.");
  if (length > MAX_PAYLOAD_BYTES)
    throw helperFault(`The box sent a frame of ${length} bytes; the limit is ${MAX_PAYLOAD_BYTES}.`);
  return { type, id: header.readUInt32LE(4), payload: allocate(length) };
}
