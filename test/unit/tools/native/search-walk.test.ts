import { describe, expect, it } from "vitest";
import type { FileEntry } from "../../../../src/domain/box.js";
import { readPathPattern, walkBelow } from "../../../../src/tools/native/search-walk.js";
import { FakeToolBox } from "../fake-tool-box.js";

const options = { signal: new AbortController().signal };

function entry(path: string): FileEntry {
  const shared = {
    kind: "file",
    sizeBytes: 1,
    linkCount: 1,
    mode: 0,
    modifiedMs: 0,
    version: "",
    readable: true,
  } as const;
  return { ...shared, path };
}

function matches(pattern: string, path: string, base = "/workspace"): boolean | string {
  const read = readPathPattern(pattern, base);
  return read.ok ? read.matches(path) : read.error;
}

describe("walkBelow", () => {
  it("skips directories that hold no work of the user, but enters one that the path names", async () => {
    const box = new FakeToolBox();
    for (const path of [
      "a",
      ".git/x",
      "node_modules/m/x",
      "src/__pycache__/x",
      "dist/x",
      ".home/lib/x",
      "src/ok",
    ])
      box.put(`/workspace/${path}`, "");
    const paths = async (path?: string) => {
      const walk = await walkBelow(path, box.files, options);
      return walk.ok
        ? walk.entries.filter(({ kind }) => kind === "file").map(({ path: found }) => found)
        : walk.error;
    };
    expect(await paths()).toEqual(["/workspace/a", "/workspace/src/ok"]);
    expect(await paths("/workspace/.home")).toEqual(["/workspace/.home/lib/x"]);
    expect(await paths("")).toEqual(await paths());
    expect(await paths("dist")).toEqual(["/workspace/dist/x"]);
  });

  it("does not believe entries that are not below the directory", async () => {
    const box = new FakeToolBox();
    const entries = [
      "/etc/passwd",
      "/workspace/d/../../etc",
      "/workspace/d",
      "/workspace/dx/a",
      "/workspace/d/a",
    ].map(entry);
    box.list = () => Promise.resolve({ ok: true, entries, truncated: false });
    expect(await walkBelow("d", box.files, options)).toMatchObject({
      ok: true,
      entries: [{ path: "/workspace/d/a" }],
    });
  });

  it.each([
    ["/etc", /escapes/],
    ["none", /does not exist/],
    ["a", /is not a directory/],
  ])("refuses the path %s", async (path, reason) => {
    const box = new FakeToolBox();
    box.put("/workspace/a", "");
    const walk = await walkBelow(path, box.files, options);
    expect(walk.ok ? "" : walk.error).toMatch(reason);
  });
});

describe("readPathPattern", () => {
  it("takes patterns from the directory on, absolute ones too when they lie below it", () => {
    expect(matches("*.py", "a.py")).toBe(true);
    expect(matches("./src/*.py", "src/a.py")).toBe(true);
    expect(matches("/workspace/src/*.py", "src/a.py")).toBe(true);
    expect(matches("/workspace/src/*.py", "a.py", "/workspace/src")).toBe(true);
  });

  it.each([
    ["", /empty/],
    ["../*", /escapes/],
    ["/etc/*", /escapes/],
    ["a/../../b", /escapes/],
    ["x".repeat(1025), /1025 characters, at most 1024/],
    ["{a,b}".repeat(7), /more than 64 alternatives/],
  ])("refuses %j", (pattern, reason) => {
    expect(matches(pattern, "a")).toMatch(reason);
  });
});
