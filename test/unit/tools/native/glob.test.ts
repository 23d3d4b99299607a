import { describe, expect, it } from "vitest";
import { globTool as glob } from "../../../../src/tools/native/glob.js";
import { proves } from "../../../support/proves.js";
import { errorOf, FakeToolBox, resultOf, runTool } from "../fake-tool-box.js";

function boxWithFiles(count: number): FakeToolBox {
  const box = new FakeToolBox();
  for (let i = 0; i < count; i += 1) box.put(`/workspace/d/${String(i).padStart(6, "0")}.txt`, "", i);
  return box;
}

describe("glob", () => {
  it("gives matches newest first", async () => {
    const box = new FakeToolBox();
    box.put("/workspace/old.py", "", 10);
    box.put("/workspace/src/new.py", "", 30);
    box.put("/workspace/src/mid.py", "", 20);
    box.put("/workspace/src/other.txt", "", 40);
    expect(await resultOf(glob, box, { pattern: "**/*.py" })).toEqual({
      ok: true,
      path: "/workspace",
      matches: ["/workspace/src/new.py", "/workspace/src/mid.py", "/workspace/old.py"],
      total: 3,
      preview: "/workspace/src/new.py\n/workspace/src/mid.py\n/workspace/old.py",
      truncated: false,
      truncated_by: null,
    });
    expect(await resultOf(glob, box, { pattern: "*.py" })).toMatchObject({ matches: ["/workspace/old.py"] });
    expect(await resultOf(glob, box, { pattern: "*.txt", path: "src" })).toMatchObject({ total: 1 });
  });

  it("finds directories for a pattern that ends with a slash", async () => {
    const box = boxWithFiles(1);
    expect(await resultOf(glob, box, { pattern: "*/" })).toMatchObject({ matches: ["/workspace/d"] });
    expect(await resultOf(glob, box, { pattern: "*" })).toMatchObject({ matches: [] });
  });

  it("gives 100 of 105 matches, and says when the walk was cut, while others get their turn", async () => {
    proves("TOOL-07");
    const few = await resultOf(glob, boxWithFiles(105), { pattern: "**/*.txt" });
    expect(few).toMatchObject({ total: 105, truncated: true, truncated_by: "matches" });
    expect(few["matches"]).toHaveLength(100);
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 0);
    const many = await resultOf(glob, hugeBox(120_000), { pattern: "**/*.txt" });
    clearInterval(counting);
    expect(many).toMatchObject({ total: 100_000, truncated_by: "scan" });
    expect(turns).toBeGreaterThan(5);
  });

  it("bounds the preview in bytes", async () => {
    const box = new FakeToolBox();
    for (let i = 0; i < 100; i += 1) box.put(`/workspace/${"ä".repeat(100)}/${"ö".repeat(200)}${i}`, "");
    const result = await resultOf(glob, box, { pattern: "**" });
    expect(result).toMatchObject({ total: 100, truncated_by: "bytes" });
    expect(Buffer.byteLength(String(result["preview"]))).toBeLessThanOrEqual(50 * 1024);
  });

  it.each([
    [{ pattern: "*", path: "/etc" }, /escapes/],
    [{ pattern: "*", path: "d/000000.txt" }, /is not a directory/],
    [{ pattern: "../*" }, /escapes/],
    [{ pattern: "/" }, /pattern is empty/],
    [{}, /^Invalid input for glob: pattern: /],
  ])("refuses %j", async (input, reason) => {
    expect(await errorOf(glob, boxWithFiles(1), input)).toMatch(reason);
  });

  it("stops when the call is cancelled", async () => {
    const signal = AbortSignal.abort(new Error("cancelled"));
    await expect(runTool(glob, { box: boxWithFiles(1), input: { pattern: "*" } }, signal)).rejects.toThrow(
      "cancelled",
    );
  });
});

/** A box that answers a walk with so many entries, cut where the request says. */
function hugeBox(count: number): FakeToolBox {
  const box = new FakeToolBox();
  const shared = {
    kind: "file",
    sizeBytes: 0,
    linkCount: 1,
    mode: 0o644,
    version: "v",
    readable: true,
  } as const;
  const entries = Array.from({ length: count }, (_, i) => ({
    ...shared,
    path: `/workspace/d/${i}.txt`,
    modifiedMs: i,
  }));
  box.list = ({ maxEntries }) =>
    Promise.resolve({
      ok: true,
      entries: entries.slice(0, maxEntries),
      truncated: entries.length > maxEntries,
    });
  return box;
}
