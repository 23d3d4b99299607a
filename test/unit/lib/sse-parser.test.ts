import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SseParser } from "../../../src/lib/sse-parser.js";

const LIMIT = 10_000;

function parse(pieces: readonly Uint8Array[], limit = LIMIT) {
  const parser = new SseParser(limit);
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()];
}

function parseText(text: string, limit = LIMIT) {
  return parse([Buffer.from(text)], limit);
}

describe("SseParser", () => {
  it.each([
    ["data: a\n\n", [{ event: "", data: "a" }]],
    [
      "data:a\r\rdata: b\r\n\r\n",
      [
        { event: "", data: "a" },
        { event: "", data: "b" },
      ],
    ],
    ["event: x\ndata: a\ndata:  b\n\n", [{ event: "x", data: "a\n b" }]],
    [": comment\nid: 7\nretry: 3\ndata\n\n", [{ event: "", data: "" }]],
    ["event: x\n\ndata: a\n\n", [{ event: "", data: "a" }]],
    [
      "\uFEFFdata: a\n\ndata: \uFEFFb\n\n",
      [
        { event: "", data: "a" },
        { event: "", data: "\uFEFFb" },
      ],
    ],
    ["data: a\u2028b\u2029c\u0085d\n\n", [{ event: "", data: "a\u2028b\u2029c\u0085d" }]],
    ["data: a", [{ event: "", data: "a" }]],
    ["data: a\n", [{ event: "", data: "a" }]],
    ["", []],
    ["\n\n\n", []],
  ])("reads %o by the standard", (text, expected) => {
    expect(parseText(text)).toEqual(expected);
  });

  it("gives the same messages wherever the bytes are cut", () => {
    const lines = fc.constantFrom("data: 你好🎉", "data:", "event: x", ": note", "data: a\u2028b", "");
    const ends = fc.constantFrom("\n", "\r", "\r\n");
    fc.assert(
      fc.property(fc.array(fc.tuple(lines, ends), { maxLength: 8 }), (parts) => {
        const wire = Buffer.from(parts.flat().join(""));
        const whole = parse([wire]);
        for (let cut = 0; cut <= wire.length; cut += 1)
          expect(parse([wire.subarray(0, cut), wire.subarray(cut)])).toEqual(whole);
        expect(parse(Array.from(wire, (_, i) => wire.subarray(i, i + 1)))).toEqual(whole);
      }),
    );
  });

  it("keeps what it was given, though the caller uses the buffer again", () => {
    const parser = new SseParser(LIMIT);
    const buffer = Buffer.from("data: abc");
    parser.push(buffer);
    buffer.fill("x");
    expect(parser.push(Buffer.from("\n\n"))).toEqual([{ event: "", data: "abc" }]);
  });

  it("refuses a message above the limit, counted over its lines, and none below it", () => {
    expect(() => parseText("data: 12345\n\n", 10)).toThrow(RangeError);
    expect(() => parseText("data: 1\ndata: 2\n\n", 12)).toThrow(/12 bytes/);
    expect(parseText("data: 1\n\ndata: 2\n\n", 12)).toHaveLength(2);
  });
});
