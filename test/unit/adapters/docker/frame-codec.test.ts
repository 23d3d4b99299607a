import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createFrameDecoder,
  encodeFrame,
  FROM_WORKER,
  type WorkerFrame,
} from "../../../../src/adapters/docker/frame-codec.js";

const frames = fc.array(
  fc.record({
    type: fc.constantFrom(...Object.values(FROM_WORKER)),
    index: fc.integer({ min: 0, max: 0xffffffff }),
    payload: fc.uint8Array({ maxLength: 300 }),
  }),
  { maxLength: 8 },
);

describe("createFrameDecoder", () => {
  it("gives back the frames that were encoded, wherever their bytes are cut", () => {
    fc.assert(
      fc.property(frames, fc.array(fc.integer({ min: 0, max: 2400 })), (sent, cuts) => {
        const bytes = Buffer.concat(
          sent.map(({ type, index, payload }) => encodeFrame(type, index, payload)),
        );
        const decoder = createFrameDecoder();
        const received = cutAt(bytes, cuts).flatMap((piece) => decoder.push(piece));
        expect(received.map(plain)).toEqual(sent.map(plain));
        expect(decoder.isInsideFrame).toBe(false);
      }),
    );
  });

  it("gives the same frames for every single cut", () => {
    const bytes = Buffer.concat([
      encodeFrame(FROM_WORKER.stdout, 7, Buffer.from("payload")),
      encodeFrame(FROM_WORKER.done, 0),
    ]);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const decoder = createFrameDecoder();
      const received = [bytes.subarray(0, cut), bytes.subarray(cut)].flatMap((piece) => decoder.push(piece));
      expect(received.map(plain)).toEqual([
        { type: FROM_WORKER.stdout, index: 7, payload: [...Buffer.from("payload")] },
        { type: FROM_WORKER.done, index: 0, payload: [] },
      ]);
    }
  });

  it("knows that a frame is not complete", () => {
    const decoder = createFrameDecoder();
    decoder.push(encodeFrame(FROM_WORKER.stdout, 0, Buffer.from("payload")).subarray(0, -1));
    expect(decoder.isInsideFrame).toBe(true);
  });

  it("refuses what is no frame of the worker, such as the engine's own text", () => {
    expect(() => createFrameDecoder().push(Buffer.from("OCI runtime exec failed"))).toThrow(/type 79/);
    expect(() => createFrameDecoder().push(encodeFrame(1, 0, new Uint8Array(0)))).toThrow(/type 1/);
  });

  it("refuses a length above the limit before it has the bytes", () => {
    const header = encodeFrame(FROM_WORKER.stdout, 0);
    header.writeUInt32BE(0xffffffff, 5);
    expect(() => createFrameDecoder().push(header)).toThrow(/4294967295 bytes; the limit is 2097152/);
  });
});

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const borders = [0, ...cuts.filter((cut) => cut < bytes.length), bytes.length].toSorted((a, b) => a - b);
  return borders.slice(1).map((end, i) => bytes.subarray(borders[i], end));
}

function plain({ type, index, payload }: WorkerFrame) {
  return { type, index, payload: [...payload] };
}
