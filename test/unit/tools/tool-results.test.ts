import { describe, expect, it } from "vitest";
import {
  findSurplus,
  MAX_RESULT_BYTES,
  ToolResultFile,
  toolResultPath,
} from "../../../src/tools/tool-results.js";
import { FakeToolBox } from "./fake-tool-box.js";

const MIB = 1024 * 1024;
const options = { signal: new AbortController().signal };

describe("toolResultPath", () => {
  it("uses the call id where it is a plain file name", () => {
    expect(toolResultPath("call_a-1.b")).toBe("/workspace/.tool-results/call_a-1.b");
  });

  it.each(["../../etc/passwd", "a/b", ".hidden", "..", "", "x".repeat(200), "a\nb"])(
    "replaces %j by a hash, so that an id never becomes a path",
    (id) => {
      expect(toolResultPath(id)).toMatch(/^\/workspace\/\.tool-results\/call-[0-9a-f]{32}$/);
    },
  );
});

describe("ToolResultFile", () => {
  it("keeps the bytes exactly, over several pieces", async () => {
    const box = new FakeToolBox();
    const file = new ToolResultFile(box.files, "call_1");
    const expected = Buffer.alloc(9 * MIB, "0123456789\0");
    for (let start = 0; start < expected.length; start += 65_537) {
      file.add(expected.subarray(start, start + 65_537));
      if (file.isDue) await file.write(options);
    }
    expect(await file.finish(options)).toEqual({ ok: true, path: file.path, sizeBytes: 9 * MIB });
    expect(Buffer.compare(box.tree.get(file.path)?.bytes ?? Buffer.alloc(0), expected)).toBe(0);
    expect(box.requests).toEqual(["write overwrite", "write append", "write append", "list"]);
  });

  it("keeps the first 16 MiB", async () => {
    const box = new FakeToolBox();
    const file = new ToolResultFile(box.files, "call_1");
    for (let i = 0; i < 20; i += 1) {
      file.add(Buffer.alloc(MIB, i));
      if (file.isDue) await file.write(options);
    }
    expect(await file.finish(options)).toMatchObject({ sizeBytes: MAX_RESULT_BYTES });
    expect(box.tree.get(file.path)?.bytes.at(-1)).toBe(15);
  });

  it("removes the oldest results when all together pass 64 MiB, never the one just written", async () => {
    const box = new FakeToolBox();
    for (const [name, modifiedMs] of [
      ["b", 20],
      ["a", 10],
      ["c", 30],
    ] as const)
      box.put(`/workspace/.tool-results/${name}`, Buffer.alloc(30 * MIB), modifiedMs);
    const file = new ToolResultFile(box.files, "call_1");
    file.add(Buffer.alloc(2 * MIB));
    await file.finish(options);
    expect([...box.tree.keys()]).toEqual([
      "/workspace/.tool-results/b",
      "/workspace/.tool-results/c",
      file.path,
    ]);
  });

  it("says why nothing was kept, and does not throw for it", async () => {
    const box = new FakeToolBox();
    const file = new ToolResultFile(box.files, "call_1");
    box.faults.set(file.path, "no_space");
    file.add(Buffer.from("x"));
    expect(await file.finish(options)).toEqual({
      ok: false,
      reason: expect.stringContaining("no space left") as unknown,
    });
  });

  it("says so when the box is gone or the call was stopped", async () => {
    const box = new FakeToolBox();
    box.isLost = true;
    const lost = new ToolResultFile(box.files, "call_1");
    lost.add(Buffer.from("x"));
    expect(await lost.finish(options)).toMatchObject({ ok: false });
    const stopped = new ToolResultFile(box.files, "call_1");
    stopped.add(Buffer.from("x"));
    expect(await stopped.finish({ signal: AbortSignal.abort() })).toMatchObject({ ok: false });
  });
});

const entry = (path: string, sizeBytes: number, modifiedMs: number) => ({
  path: `/workspace/.tool-results/${path}`,
  version: "v",
  kind: "file",
  sizeBytes,
  modifiedMs,
});

describe("findSurplus", () => {
  it("takes the oldest until the rest fits", () => {
    const entries = [entry("new", 40 * MIB, 3), entry("old", 20 * MIB, 1), entry("mid", 20 * MIB, 2)];
    expect(findSurplus(entries, "/workspace/.tool-results/new").map(({ path }) => path)).toEqual([
      "/workspace/.tool-results/old",
    ]);
  });

  it("takes nothing that fits, and nothing that is no result", () => {
    const elsewhere = { ...entry("a", 99 * MIB, 1), path: "/workspace/data" };
    const directory = { ...entry("d", 99 * MIB, 1), kind: "directory" };
    expect(findSurplus([entry("a", 64 * MIB, 1)], "")).toEqual([]);
    expect(findSurplus([elsewhere, directory], "")).toEqual([]);
  });
});
