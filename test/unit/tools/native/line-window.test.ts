import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LineRequest, LineWindow } from "../../../../src/tools/native/line-window.js";

function select(text: string, request: Partial<LineRequest> = {}, cuts: readonly number[] = []) {
  const window = new LineWindow({ startLine: 1, maxLines: 2000, maxBytes: 51_200, ...request });
  const bytes = Buffer.from(text);
  let start = 0;
  for (const size of [...cuts, bytes.length]) {
    window.push(bytes.subarray(start, start + size));
    start += size;
  }
  const { bytes: kept, ...rest } = window.finish();
  return { ...rest, text: kept.toString("utf8") };
}

describe("LineWindow", () => {
  it("keeps the lines asked for and counts all", () => {
    expect(select("one\ntwo\nthree\nfour\nfive\n", { startLine: 2, maxLines: 2 })).toEqual({
      text: "two\nthree",
      keptLines: 2,
      totalLines: 5,
      truncatedBy: "lines",
      longLine: null,
    });
  });

  it.each([
    ["", 0],
    ["a", 1],
    ["a\n", 1],
    ["a\nb", 2],
    ["\n", 1],
    ["\n\n", 2],
    ["a\r\nb\r\n", 2],
    ["a\u2028b", 1],
  ])("counts the lines of %j as %i", (text, lines) => {
    expect(select(text).totalLines).toBe(lines);
  });

  it("is not cut when the last line asked for is the last one", () => {
    expect(select("a\nb\n", { maxLines: 2 })).toMatchObject({ text: "a\nb", truncatedBy: null });
  });

  it("stops before the line that would pass the byte limit", () => {
    expect(select("aaaa\nbbbb\ncccc", { maxBytes: 9 })).toMatchObject({
      text: "aaaa\nbbbb",
      keptLines: 2,
      truncatedBy: "bytes",
      longLine: null,
    });
  });

  it("describes a first line that does not fit by itself", () => {
    expect(select(`a\n${"x".repeat(20)}\nb`, { startLine: 2, maxBytes: 10 })).toEqual({
      text: "",
      keptLines: 0,
      totalLines: 3,
      truncatedBy: "bytes",
      longLine: { line: 2, sizeBytes: 20, byteOffset: 2 },
    });
    expect(select("x".repeat(20), { maxBytes: 10 }, [3]).longLine).toEqual({
      line: 1,
      sizeBytes: 20,
      byteOffset: 0,
    });
  });

  it("keeps nothing of an offset behind the end", () => {
    expect(select("a\nb\n", { startLine: 3 })).toMatchObject({
      keptLines: 0,
      totalLines: 2,
      truncatedBy: null,
    });
  });

  it("agrees with splitting the whole text, wherever it is cut into pieces", () => {
    const text = fc
      .array(fc.constantFrom("a", "bb", "你", "\n", "\r\n"), { maxLength: 60 })
      .map((all) => all.join(""));
    const request = fc.record({
      startLine: fc.integer({ min: 1, max: 8 }),
      maxLines: fc.integer({ min: 1, max: 6 }),
      maxBytes: fc.integer({ min: 1, max: 30 }),
    });
    fc.assert(
      fc.property(text, request, fc.array(fc.nat(7), { maxLength: 12 }), (sample, asked, cuts) => {
        const lines = sample === "" ? [] : sample.replace(/\n$/u, "").split("\n");
        const wanted = lines.slice(asked.startLine - 1, asked.startLine - 1 + asked.maxLines);
        const fitting = wanted.filter(
          (_, i) => Buffer.byteLength(wanted.slice(0, i + 1).join("\n")) <= asked.maxBytes,
        );
        const selection = select(sample, asked, cuts);
        expect(selection.text).toBe(fitting.join("\n"));
        expect(selection.totalLines).toBe(lines.length);
        expect(selection.truncatedBy === "bytes").toBe(fitting.length < wanted.length);
      }),
      { numRuns: 400 },
    );
  });
});
