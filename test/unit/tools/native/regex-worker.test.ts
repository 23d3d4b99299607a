import { describe, expect, it } from "vitest";
import { RegexWorker } from "../../../../src/tools/native/regex-worker.js";

const RUNAWAY = /^(a+)+$/u;
/** Needs more of the stack than there is for a long line. */
const DEEP = /^(?:(a)|(b)|(c)|(d)|(e)|(f)|(g)|(h)|(ab))*$/u;
const limits = { maxMatches: 10, timeoutMs: 250, signal: new AbortController().signal };
const bytes = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(text));

describe("RegexWorker", () => {
  it("finds lines by number, without their line ends", async () => {
    await using worker = new RegexWorker(/b/u, 100);
    expect(await worker.search(bytes("abc\r\nx\nb\n"), limits)).toEqual({
      matches: [
        { line: 1, start: "abc", isCut: false },
        { line: 3, start: "b", isCut: false },
      ],
      end: "all",
      longLines: 0,
    });
  });

  it("does not take the end of the last line for an empty line", async () => {
    await using worker = new RegexWorker(/^$/u, 100);
    const found = await worker.search(bytes("a\n\nb\n"), limits);
    expect(found.matches.map(({ line }) => line)).toEqual([2]);
  });

  it("gives the beginning of a long line and stops at the number of matches", async () => {
    await using worker = new RegexWorker(/x/u, 3);
    const found = await worker.search(bytes("xxxxx\nxx\nx"), { ...limits, maxMatches: 2 });
    expect(found.matches).toEqual([
      { line: 1, start: "xxx", isCut: true },
      { line: 2, start: "xx", isCut: false },
    ]);
  });

  it("counts lines that are too long to be searched", async () => {
    await using worker = new RegexWorker(/x/u, 3);
    const found = await worker.search(bytes(`${"x".repeat(1024 * 1024 + 1)}\nx`), limits);
    expect(found).toMatchObject({ longLines: 1, matches: [{ line: 2 }] });
  });

  it("says that an expression failed on a file, and searches the next one", async () => {
    await using worker = new RegexWorker(DEEP, 100);
    const deep = await worker.search(bytes(`${"ab".repeat(500_000)}!\n`), { ...limits, timeoutMs: 60_000 });
    expect(deep).toEqual({ matches: [], end: "failed", longLines: 0 });
    expect(await worker.search(bytes("!\r\n!\nabc"), limits)).toMatchObject({
      end: "all",
      matches: [{ line: 3 }],
    });
  });

  it("ends an expression that runs away, keeps what it found before, and searches the next file", async () => {
    await using worker = new RegexWorker(RUNAWAY, 100);
    const found = await worker.search(bytes(`aaa\n${"a".repeat(50)}!\naaa`), limits);
    expect(found).toEqual({ matches: [{ line: 1, start: "aaa", isCut: false }], end: "time", longLines: 0 });
    expect(await worker.search(bytes("aa\n"), limits)).toMatchObject({ end: "all", matches: [{ line: 1 }] });
  });

  it("leaves the service responsive while an expression runs", async () => {
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    await using worker = new RegexWorker(RUNAWAY, 100);
    await worker.search(bytes(`${"a".repeat(50)}!`), limits);
    clearInterval(counting);
    expect(turns).toBeGreaterThan(20);
  });

  it("stops at once when it is told to", async () => {
    await using worker = new RegexWorker(RUNAWAY, 100);
    const stop = AbortSignal.timeout(20);
    const found = await worker.search(bytes(`${"a".repeat(50)}!`), {
      ...limits,
      timeoutMs: 60_000,
      signal: stop,
    });
    expect(found.end).toBe("time");
    expect(await worker.search(bytes("aa"), { ...limits, signal: stop })).toMatchObject({
      end: "time",
      matches: [],
    });
  });
});
