/**
 * Frames between the service and its worker in the box: type (1 byte), index (4), payload length (4), all big-endian,
 * then the payload. Pure. What comes from the box is bounded and its types are checked, nothing else is believed.
 */
import { ServiceError } from "../../domain/errors.js";
import { type BegunFrame, FrameAssembler } from "../../lib/frame-assembler.js";

/** What the service says. */
export const TO_WORKER = { request: 1, data: 2, end: 3, discard: 4, kill: 5 } as const;

/** What the worker says. */
export const FROM_WORKER = {
  entry: 0x81,
  bytes: 0x82,
  finished: 0x83,
  fault: 0x84,
  entries: 0x85,
  answer: 0x86,
  stdout: 0x87,
  stderr: 0x88,
  started: 0x89,
  exit: 0x8a,
  done: 0x8b,
} as const;

type FrameTypes<Table extends Record<string, number>> = Table[keyof Table];
export type ToWorkerType = FrameTypes<typeof TO_WORKER>;
export type FromWorkerType = FrameTypes<typeof FROM_WORKER>;

/** One frame of the worker. `index` says which item of the request it is about. */
export interface WorkerFrame {
  readonly type: FromWorkerType;
  readonly index: number;
  readonly payload: Uint8Array;
}

const HEADER_BYTES = 9;
/** The worker cuts bytes at 64 KiB and lists at 200 entries; twice the largest honest frame is plenty. */
const MAX_PAYLOAD_BYTES = 2 * 1024 * 1024;
const KNOWN_TYPES: ReadonlyMap<number, FromWorkerType> = new Map(
  Object.values(FROM_WORKER).map((type) => [type, type]),
);

/** The bytes of one frame for the worker. */
export function encodeFrame(
  type: ToWorkerType | FromWorkerType,
  index: number,
  payload: Uint8Array = new Uint8Array(0),
): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  frame.writeUInt8(type, 0);
  frame.writeUInt32BE(index, 1);
  frame.writeUInt32BE(payload.length, 5);
  frame.set(payload, HEADER_BYTES);
  return frame;
}

/** The box broke the format; nothing it says after that means anything, so the outcome is unknown. */
export function brokenFrame(message: string): ServiceError {
  return new ServiceError("box.engine_unavailable", message, {
    hint: "The outcome is unknown: look at the files in the box before trying again.",
  });
}

/** Reads what a worker sends; an unknown type or a payload above 2 MiB throws a ServiceError. */
export function createFrameDecoder(): FrameAssembler<WorkerFrame & BegunFrame> {
  return new FrameAssembler(HEADER_BYTES, beginFrame);
}

function beginFrame(header: Buffer): WorkerFrame & BegunFrame {
  const type = KNOWN_TYPES.get(header.readUInt8(0));
  const length = header.readUInt32BE(5);
  if (type === undefined) throw brokenFrame(`The box sent a frame of type ${header.readUInt8(0)}.`);
  if (length > MAX_PAYLOAD_BYTES)
    throw brokenFrame(`The box sent a frame of ${length} bytes; the limit is ${MAX_PAYLOAD_BYTES}.`);
  return { type, index: header.readUInt32BE(1), payload: Buffer.alloc(length) };
}
