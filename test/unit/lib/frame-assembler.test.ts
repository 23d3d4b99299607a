import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameAssembler } from "../../../src/lib/frame-assembler.js";

const anAssembler = () =>
  new FrameAssembler(2, (header) => {
    if (header.readUInt8(0) === 0xff) throw new Error("no such frame");
    return { kind: header.readUInt8(0), payload: Buffer.alloc(header.readUInt8(1)) };
  });

const frameOf = (kind: number, payload: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([kind, payload.length]), payload]);

describe("FrameAssembler", () => {
  it("gives the same frames however their bytes are cut", () => {
    const frame = fc.tuple(fc.integer({ min: 0, max: 0xfe }), fc.uint8Array({ maxLength: 255 }));
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 8 }), fc.integer({ min: 1, max: 64 }), (frames, cut) => {
        const bytes = Buffer.concat(frames.map(([kind, payload]) => frameOf(kind, payload)));
        const assembler = anAssembler();
        const found = [];
        for (let at = 0; at < bytes.length; at += cut)
          found.push(...assembler.push(bytes.subarray(at, at + cut)));
        expect(found.map(({ kind, payload }) => [kind, [...payload]])).toEqual(
          frames.map(([kind, payload]) => [kind, [...payload]]),
        );
        expect(assembler.isInsideFrame).toBe(false);
      }),
    );
  });

  it("says that a frame has begun, and passes on what the header's reader throws", () => {
    const assembler = anAssembler();
    expect(assembler.push(Buffer.from([1]))).toEqual([]);
    expect(assembler.isInsideFrame).toBe(true);
    expect(() => anAssembler().push(Buffer.from([0xff, 0]))).toThrow("no such frame");
  });
});
