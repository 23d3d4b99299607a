import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EngineDemuxer } from "../../../../src/adapters/docker/engine-demuxer.js";

describe("EngineDemuxer", () => {
  it("separates the streams exactly, whatever the sizes and wherever they are cut (box §18.3)", () => {
    const frames = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 200 })), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(frames, fc.integer({ min: 1, max: 40 }), (sent, stride) => {
        const bytes = Buffer.concat(sent.map(([stream, payload]) => engineFrame(stream, payload)));
        const demuxer = new EngineDemuxer();
        const received = slices(bytes, stride).flatMap((piece) => demuxer.push(piece));
        for (const [number, name] of [
          [1, "stdout"],
          [2, "stderr"],
        ] as const) {
          const all = Buffer.concat(
            received.filter(({ stream }) => stream === name).map((chunk) => chunk.bytes),
          );
          expect(all).toEqual(
            Buffer.concat(sent.filter(([stream]) => stream === number).map(([, payload]) => payload)),
          );
        }
      }),
    );
  });

  it("takes a payload that looks like a header for payload", () => {
    const inner = engineFrame(2, Buffer.from("x"));
    expect(new EngineDemuxer().push(engineFrame(1, inner))).toEqual([{ stream: "stdout", bytes: inner }]);
  });

  it("hands payload on before its frame is complete, so that a claimed length costs nothing", () => {
    const header = engineFrame(1, new Uint8Array(0));
    header.writeUInt32BE(0xffffffff, 4);
    const demuxer = new EngineDemuxer();
    expect(demuxer.push(Buffer.concat([header, Buffer.from("abc")]))).toEqual([
      { stream: "stdout", bytes: Buffer.from("abc") },
    ]);
  });

  it("refuses a stream that does not exist", () => {
    expect(() => new EngineDemuxer().push(engineFrame(3, Buffer.from("x")))).toThrow(/unknown stream/);
  });
});

function engineFrame(stream: number, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(stream, 0);
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

function slices(bytes: Buffer, stride: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / stride) }, (_none, i) =>
    bytes.subarray(i * stride, (i + 1) * stride),
  );
}
