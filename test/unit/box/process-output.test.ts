import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProcessOutput } from "../../../src/box/process-output.js";

const CAPACITY = 100;

describe("ProcessOutput", () => {
  it("gives back what is kept, in order, each piece with its stream", () => {
    const output = new ProcessOutput(CAPACITY);
    output.push("stdout", Buffer.from("out"));
    output.push("stderr", Buffer.from("err"));
    output.push("stderr", Buffer.from("!"));
    expect(output.read(1, 100)).toEqual({
      parts: [
        { stream: "stdout", bytes: new Uint8Array(Buffer.from("ut")) },
        { stream: "stderr", bytes: new Uint8Array(Buffer.from("err!")) },
      ],
      next: 7,
      droppedBytes: 0,
    });
    expect(output.read(2, 2)).toMatchObject({ next: 4 });
    expect(output.read(99, 10)).toEqual({ parts: [], next: 7, droppedBytes: 0 });
    expect(new ProcessOutput(CAPACITY).read(0, 10)).toEqual({ parts: [], next: 0, droppedBytes: 0 });
  });

  it("keeps the newest bytes of any output, and counts what is gone", () => {
    const piece = fc.record({
      stream: fc.constantFrom("stdout" as const, "stderr" as const),
      bytes: fc.uint8Array({ maxLength: 250 }),
    });
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 30 }),
        fc.nat(3000),
        fc.nat(300),
        (pieces, after, maxBytes) => {
          const output = new ProcessOutput(CAPACITY);
          const all: string[] = [];
          for (const { stream, bytes } of pieces) {
            output.push(stream, bytes);
            for (const byte of bytes) all.push(`${stream} ${byte}`);
          }
          const read = output.read(after, maxBytes);
          const from = Math.max(Math.min(after, all.length), all.length - CAPACITY, 0);
          const flat = read.parts.flatMap(({ stream, bytes }) =>
            [...bytes].map((byte) => `${stream} ${byte}`),
          );
          expect(flat).toEqual(all.slice(from, from + maxBytes));
          expect(read.next).toBe(from + flat.length);
          expect(read.droppedBytes).toBe(from - Math.min(after, all.length));
          expect([output.end, output.start]).toEqual([all.length, Math.max(0, all.length - CAPACITY)]);
        },
      ),
    );
  });
});
