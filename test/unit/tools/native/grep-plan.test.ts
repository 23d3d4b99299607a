import { describe, expect, it } from "vitest";
import type { FileEntry } from "../../../../src/domain/box.js";
import { compileExpression, selectFiles } from "../../../../src/tools/native/grep-plan.js";

const MIB = 1024 * 1024;
const walk = { base: "/workspace", isCut: false };

function entry(path: string, sizeBytes = 1): FileEntry {
  const shared = {
    kind: "file",
    linkCount: 1,
    mode: 0,
    modifiedMs: 0,
    version: "v",
    readable: true,
  } as const;
  return { ...shared, path, sizeBytes };
}

describe("compileExpression", () => {
  it("reads Unicode patterns, and older ones that Unicode rules refuse", () => {
    expect(compileExpression("\\p{Lu}.")).toEqual({ ok: true, expression: /\p{Lu}./u });
    const older = "a\\-b{";
    expect(compileExpression(older)).toEqual({ ok: true, expression: new RegExp(older) });
  });

  it.each([
    ["(", /^Invalid pattern: .*unterminated group/i],
    ["[", /^Invalid pattern: /],
    ["", /empty/],
    ["x".repeat(1025), /1025 characters, at most 1024/],
  ])("refuses %j", (pattern, reason) => {
    const compiled = compileExpression(pattern);
    expect(compiled.ok ? "" : compiled.error).toMatch(reason);
  });
});

describe("selectFiles", () => {
  it("takes files by path, hidden ones last, so that they cannot use up the limits", () => {
    const entries = [".cache/a", "b", "a/.x", "a/y", ".env"].map((name) => entry(`/workspace/${name}`));
    expect(selectFiles(walk, entries).files.map(({ path }) => path)).toEqual([
      "/workspace/a/y",
      "/workspace/b",
      "/workspace/.cache/a",
      "/workspace/.env",
      "/workspace/a/.x",
    ]);
  });

  it("names a file above 10 MiB and goes on", () => {
    const selection = selectFiles(walk, [
      entry("/workspace/a", 10 * MIB + 1),
      entry("/workspace/b", 10 * MIB),
    ]);
    expect(selection.files).toHaveLength(1);
    expect(selection.skipped).toEqual([
      { file: "/workspace/a", reason: "10485761 bytes, at most 10485760 are searched" },
    ]);
    expect(selection).toMatchObject({ isBytesCut: true, isScanCut: false });
  });

  it("stops at 50 MiB together", () => {
    const entries = Array.from({ length: 7 }, (_, i) => entry(`/workspace/${i}`, 9 * MIB));
    const selection = selectFiles(walk, entries);
    expect(selection.files).toHaveLength(5);
    expect(selection.isBytesCut).toBe(true);
  });

  it("stops at 5000 files, and says that a walk was cut", () => {
    const entries = Array.from({ length: 5001 }, (_, i) => entry(`/workspace/${i}`));
    expect(selectFiles(walk, entries)).toMatchObject({ isScanCut: true, isBytesCut: false });
    expect(selectFiles(walk, entries.slice(1)).isScanCut).toBe(false);
    expect(selectFiles({ ...walk, isCut: true }, []).isScanCut).toBe(true);
  });
});
