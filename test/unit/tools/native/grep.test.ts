import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createGrepTool } from "../../../../src/tools/native/grep.js";
import { proves } from "../../../support/proves.js";
import { errorOf, FakeToolBox, resultOf, runTool } from "../fake-tool-box.js";

const grep = createGrepTool();
const RUNAWAY = "^(a+)+$";

function boxWith(files: Readonly<Record<string, string | Uint8Array>>): FakeToolBox {
  const box = new FakeToolBox();
  for (const [path, content] of Object.entries(files)) box.put(`/workspace/${path}`, content);
  return box;
}

describe("grep", () => {
  it("finds lines by file and number, in one request for all files", async () => {
    const box = boxWith({ "b.txt": "x\nneedle 2\n", "a/a.txt": "needle 1\r\nx", "c.bin": "needle\0" });
    expect(await resultOf(grep, box, { pattern: "needle \\d" })).toEqual({
      ok: true,
      matches: [
        { file: "/workspace/a/a.txt", line: 1, content: "needle 1" },
        { file: "/workspace/b.txt", line: 2, content: "needle 2" },
      ],
      searched_files: 2,
      binary_files_skipped: 1,
      skipped: [],
      skipped_total: 0,
      truncated: false,
      truncated_by: null,
    });
    expect(box.requests).toEqual(["list", "read 3"]);
  });

  it("searches the files that include names, by name or by path", async () => {
    const box = boxWith({ "a.py": "x", "d/b.py": "x", "d/c.js": "x" });
    const files = async (include: string, path?: string) => {
      const { matches } = await resultOf(grep, box, { pattern: "x", include, path });
      return z
        .array(z.object({ file: z.string() }))
        .parse(matches)
        .map(({ file }) => file);
    };
    expect(await files("*.py")).toEqual(["/workspace/a.py", "/workspace/d/b.py"]);
    expect(await files("d/*.{py,js}")).toEqual(["/workspace/d/b.py", "/workspace/d/c.js"]);
    expect(await files("*.js", "d")).toEqual(["/workspace/d/c.js"]);
  });

  it("refuses an invalid pattern, and cuts a very long matching line with a suffix", async () => {
    proves("TOOL-08");
    const box = boxWith({ "a.txt": `short needle\nneedle ${"😀".repeat(5000)}\n` });
    expect(await errorOf(grep, box, { pattern: "(unclosed" })).toMatch(/^Invalid pattern: /);
    const result = await resultOf(grep, box, { pattern: "needle" });
    expect(result).toMatchObject({ truncated: true, truncated_by: "line" });
    expect(result["matches"]).toEqual([
      { file: "/workspace/a.txt", line: 1, content: "short needle" },
      { file: "/workspace/a.txt", line: 2, content: `needle ${"😀".repeat(493)} [... line cut]` },
    ]);
  });

  it("leaves a line of exactly 500 characters whole", async () => {
    const result = await resultOf(grep, boxWith({ a: "x".repeat(500) }), { pattern: "x" });
    expect(result).toMatchObject({ truncated: false, matches: [{ content: "x".repeat(500) }] });
  });

  it("gives 200 matches and says when there are more", async () => {
    const exact = await resultOf(grep, boxWith({ a: "x\n".repeat(150), b: "x\n".repeat(50) }), {
      pattern: "x",
    });
    expect(exact).toMatchObject({ truncated: false });
    const more = await resultOf(grep, boxWith({ a: "x\n".repeat(150), b: "x\n".repeat(51) }), {
      pattern: "x",
    });
    expect(more).toMatchObject({ truncated_by: "matches" });
    expect(more["matches"]).toHaveLength(200);
  });

  it("skips and names a file on which the pattern runs away, and gives what was found elsewhere", async () => {
    const box = boxWith({ "a.txt": "aa\n", "b.txt": `${"a".repeat(60)}!\n`, "c.txt": "aaa\n" });
    const result = await resultOf(grep, box, { pattern: RUNAWAY });
    expect(result).toMatchObject({
      matches: [{ file: "/workspace/a.txt" }, { file: "/workspace/c.txt" }],
      skipped: [{ file: "/workspace/b.txt", reason: "the pattern took more than 0.25 s" }],
      truncated_by: "time",
    });
  });

  it("says that time ran out when nothing was found", async () => {
    const box = boxWith({ "b.txt": `${"a".repeat(60)}!\n` });
    expect(await errorOf(grep, box, { pattern: RUNAWAY })).toMatch(
      /^Regex search timed out in \/workspace\/b\.txt: /,
    );
  });

  it("ends the whole search when its time is over, and gives what was found", async () => {
    const quick = createGrepTool({ fileMs: 60_000, totalMs: 400 });
    const box = boxWith({ "a.txt": "aa\n", "b.txt": `${"a".repeat(60)}!\n`, "c.txt": "aa\n" });
    const result = await resultOf(quick, box, { pattern: RUNAWAY });
    expect(result).toMatchObject({ matches: [{ file: "/workspace/a.txt" }], truncated_by: "time" });
  });

  it("names a file that could not be read and searches the others", async () => {
    const box = boxWith({ a: "x", b: "x" });
    box.faults.set("/workspace/a", "unreadable");
    expect(await resultOf(grep, box, { pattern: "x" })).toMatchObject({
      matches: [{ file: "/workspace/b" }],
      skipped: [{ file: "/workspace/a", reason: "it could not be read (unreadable)" }],
    });
  });

  it("says that lines above 1 MiB were not searched", async () => {
    const box = boxWith({ a: `${"x".repeat(1_100_000)}\nx` });
    expect(await resultOf(grep, box, { pattern: "x" })).toMatchObject({
      truncated_by: "line",
      skipped_total: 1,
    });
  });

  it.each([
    [{ pattern: "x", path: "/etc" }, /escapes/],
    [{ pattern: "x", path: "a" }, /is not a directory/],
    [{ pattern: "x", include: "../*" }, /escapes/],
    [{ pattern: "" }, /empty/],
    [{ path: "." }, /^Invalid input for grep: pattern: /],
  ])("refuses %j", async (input, reason) => {
    expect(await errorOf(grep, boxWith({ a: "x" }), input)).toMatch(reason);
  });

  it("stops when the call is cancelled", async () => {
    const controller = new AbortController();
    const box = boxWith({ a: `${"a".repeat(60)}!` });
    const running = runTool(
      createGrepTool({ fileMs: 60_000, totalMs: 60_000 }),
      { box, input: { pattern: RUNAWAY } },
      controller.signal,
    );
    controller.abort(new Error("cancelled"));
    await expect(running).rejects.toThrow("cancelled");
  });
});
