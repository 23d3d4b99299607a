import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type BoxdFrame,
  createFrameDecoder,
  encodeFrame,
  encodeRequest,
} from "../../../../src/adapters/boxd/frame-codec.js";
import { ASK, HEAR, MAX_PAYLOAD_BYTES } from "../../../../src/adapters/boxd/protocol.js";
import { toServiceError } from "../../../../src/domain/errors.js";

const frames = fc.array(
  fc.record({
    type: fc.constantFrom(...Object.values(HEAR)),
    id: fc.integer({ min: 0, max: 0xff_ff_ff_ff }),
    payload: fc.uint8Array({ maxLength: 300 }),
  }),
  { maxLength: 6 },
);

function encodeAll(all: readonly BoxdFrame[]): Buffer {
  return Buffer.concat(all.map(({ type, id, payload }) => encodeFrame(type, id, payload)));
}

function plain(all: readonly BoxdFrame[]): readonly unknown[] {
  return all.map(({ type, id, payload }) => [type, id, Buffer.from(payload).toString("hex")]);
}

/** Cuts bytes at every one of these places. */
function cut(bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] {
  const sorted = [
    0,
    ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b),
    bytes.length,
  ];
  return sorted.slice(1).map((end, i) => bytes.subarray(sorted[i], end));
}

function decode(pieces: readonly Uint8Array[]): {
  readonly readBytes: number;
  readonly refusal: string | null;
} {
  const decoder = createFrameDecoder();
  let readBytes = 0;
  try {
    for (const { payload } of pieces.flatMap((piece) => decoder.push(piece))) readBytes += payload.length;
    return { readBytes, refusal: null };
  } catch (error) {
    return { readBytes, refusal: toServiceError(error).code };
  }
}

/** Small generator with a seed: the same mutations in every run. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

describe("createFrameDecoder", () => {
  it("reads what was encoded, wherever it is cut", () => {
    fc.assert(
      fc.property(frames, fc.array(fc.nat(), { maxLength: 20 }), (all, places) => {
        const decoder = createFrameDecoder();
        const read = cut(encodeAll(all), places).flatMap((piece) => decoder.push(piece));
        expect(plain(read)).toEqual(plain(all));
        expect(decoder.isInsideFrame).toBe(false);
      }),
    );
  });

  it("waits inside a frame that is not complete", () => {
    const decoder = createFrameDecoder();
    const bytes = encodeFrame(HEAR.stdout, 7, Buffer.from("hello"));
    for (const byte of bytes.subarray(0, -1)) expect(decoder.push(Buffer.of(byte))).toEqual([]);
    expect(decoder.isInsideFrame).toBe(true);
    expect(plain(decoder.push(bytes.subarray(-1)))).toEqual([[HEAR.stdout, 7, "68656c6c6f"]]);
  });

  it.each([
    ["a type of the service", (header: Buffer) => header.writeUInt8(ASK.spawn, 8)],
    ["an unknown type", (header: Buffer) => header.writeUInt8(0xff, 8)],
    ["a flag", (header: Buffer) => header.writeUInt8(1, 9)],
    ["a rest that is not zero", (header: Buffer) => header.writeUInt16LE(1, 10)],
    ["a length above 64 KiB", (header: Buffer) => header.writeUInt32LE(MAX_PAYLOAD_BYTES + 1, 0)],
    ["a huge length", (header: Buffer) => header.writeUInt32LE(0xff_ff_ff_ff, 0)],
  ])("refuses %s before it reads on", (_what, spoil) => {
    const header = encodeFrame(HEAR.done, 1);
    spoil(header);
    expect(() => createFrameDecoder().push(header)).toThrow(
      expect.objectContaining({ code: "box.engine_unavailable" }),
    );
  });

  it("takes 10,000 mutated streams without anything but frames and refusals, and holds no more than came", () => {
    const roll = dice(20_26);
    const seen = new Map<string, number>();
    for (let round = 0; round < 10_000; round += 1) {
      const bytes = encodeAll([
        { type: HEAR.stdout, id: 1 + roll(3), payload: Buffer.alloc(roll(40), 0x2a) },
        { type: HEAR.done, id: 1, payload: Buffer.of(roll(4)) },
      ]);
      for (let change = 0; change <= roll(4); change += 1) bytes.writeUInt8(roll(256), roll(bytes.length));
      const { readBytes, refusal } = decode(cut(bytes, [roll(99), roll(99)]));
      const what = readBytes > bytes.length ? "more than came" : (refusal ?? "read");
      seen.set(what, (seen.get(what) ?? 0) + 1);
    }
    expect([...seen.keys()].toSorted()).toEqual(["box.engine_unavailable", "read"]);
    expect(seen.get("box.engine_unavailable")).toBeGreaterThan(1000);
  }, 20_000);
});

describe("encodeRequest", () => {
  it("needs one frame up to 64 KiB, and says on every frame but the last that more comes", () => {
    const sizes = [0, 1, MAX_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES + 1, 3 * MAX_PAYLOAD_BYTES];
    const shapes = sizes.map((size) => {
      const bytes = encodeRequest(ASK.stat, 9, Buffer.alloc(size));
      const seen: Array<[number, number]> = [];
      for (let at = 0; at < bytes.length; at += 12 + bytes.readUInt32LE(at))
        seen.push([bytes.readUInt32LE(at), bytes.readUInt8(at + 9)]);
      return seen;
    });
    expect(shapes).toEqual([
      [[0, 0]],
      [[1, 0]],
      [[MAX_PAYLOAD_BYTES, 0]],
      [
        [MAX_PAYLOAD_BYTES, 1],
        [1, 0],
      ],
      [
        [MAX_PAYLOAD_BYTES, 1],
        [MAX_PAYLOAD_BYTES, 1],
        [MAX_PAYLOAD_BYTES, 0],
      ],
    ]);
  });
});
