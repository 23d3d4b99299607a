import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import {
  isPlainBelow,
  listWorkspace,
  openWorkspaceFile,
  readWorkspacePath,
  removeWorkspaceFile,
  writeWorkspaceFile,
} from "../../../src/box/workspace-files.js";
import type { FileEntry } from "../../../src/domain/box.js";
import type { FileStreamEvent } from "../../../src/ports/box-handle.js";
import { FakeBoxFiles } from "../../fakes/fake-box-files.js";
import { FakeTree } from "../../fakes/fake-box-tree.js";
import { textLike } from "../../support/text-like.js";
import { ENDLESS } from "./box-world.js";

let tree: FakeTree;
let files: FakeBoxFiles;

beforeEach(() => {
  tree = new FakeTree();
  files = new FakeBoxFiles({ tree, spaceBytes: 1_000_000, check: () => {} });
});

const refusal = (code: string, says: string): Readonly<Record<string, unknown>> => ({
  code,
  message: textLike(new RegExp(says)),
});

async function* pieces(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of bytes) all.push(piece);
  return Buffer.concat(all).toString();
}

const write = (path: string, ...texts: readonly string[]) => {
  const sizeBytes = Buffer.byteLength(texts.join(""));
  return writeWorkspaceFile(files, { path, sizeBytes, content: pieces(...texts) }, ENDLESS);
};

const remove = (path: string, recursive = false) => removeWorkspaceFile(files, { path, recursive }, ENDLESS);

const anEntry = (change: Partial<FileEntry>): FileEntry => ({
  path: "/workspace/a",
  kind: "file",
  sizeBytes: 1,
  linkCount: 1,
  mode: 0o644,
  modifiedMs: 0,
  version: "v",
  readable: true,
  ...change,
});

describe("readWorkspacePath", () => {
  it("takes relative paths from the workspace", () => {
    expect(readWorkspacePath("a/./b/")).toBe("/workspace/a/b");
    expect(readWorkspacePath("/workspace")).toBe("/workspace");
  });

  it.each(["/etc/passwd", "../x", "/workspace/../workspace-evil", "/workspacex"])(
    "says that %s escapes",
    (path) => {
      expect(() => readWorkspacePath(path)).toThrow(/escapes/);
    },
  );

  it("refuses what no file can be called", () => {
    expect(() => readWorkspacePath("a\0b")).toThrow(/usable path/);
  });
});

describe("listWorkspace", () => {
  it("lists as deep as it is asked, in order of path, and follows no link", async () => {
    tree.put("/workspace/b.txt", "12");
    tree.put("/workspace/a/c.txt", "1");
    tree.root.children.set("out", tree.link("/etc"));
    const flat = await listWorkspace(files, { path: "/workspace", depth: 1 }, ENDLESS);
    expect(flat.entries.map(({ path, kind, bytes }) => [path, kind, bytes])).toEqual([
      ["/workspace/a", "directory", 0],
      ["/workspace/b.txt", "file", 2],
      ["/workspace/out", "link", 0],
    ]);
    expect(flat.entries[1]?.modified_at).toMatch(/^2023-11-14T22:13:20\.\d{3}Z$/);
    const deep = await listWorkspace(files, { path: "/workspace", depth: 2 }, ENDLESS);
    expect(deep.entries.map(({ path }) => path)).toContain("/workspace/a/c.txt");
    await expect(listWorkspace(files, { path: "/workspace/out", depth: 1 }, ENDLESS)).rejects.toMatchObject(
      refusal("box.validation", "escapes"),
    );
  });

  it("tells at most 1000 entries, and that there are more", async () => {
    for (let i = 0; i < 1001; i += 1) tree.put(`/workspace/${i}`, "");
    const many = await listWorkspace(files, { path: "/workspace", depth: 1 }, ENDLESS);
    expect([many.entries.length, many.truncated]).toEqual([1000, true]);
    files.list = async () => ({
      ok: true,
      entries: Array.from({ length: 1001 }, (_none, index) => anEntry({ path: `/workspace/${index}` })),
      truncated: false,
    });
    const flooded = await listWorkspace(files, { path: "/workspace", depth: 1 }, ENDLESS);
    expect([flooded.entries.length, flooded.truncated]).toEqual([1000, true]);
  });

  it("believes no path, size or time that cannot be", async () => {
    const entries = [
      anEntry({ path: "/etc/passwd" }),
      anEntry({ path: "/workspace/../etc" }),
      anEntry({ path: "/workspace/sub" }),
      anEntry({ path: "/workspace/sub/odd", sizeBytes: -5, modifiedMs: Number.MAX_VALUE }),
    ];
    files.list = async () => ({ ok: true, entries, truncated: false });
    const listed = await listWorkspace(files, { path: "/workspace/sub", depth: 1 }, ENDLESS);
    expect(listed.entries).toEqual([
      { path: "/workspace/sub/odd", kind: "file", bytes: 0, modified_at: "1970-01-01T00:00:00.000Z" },
    ]);
  });
});

describe("isPlainBelow", () => {
  it("is true only of a normalised path that begins with the directory and a slash", () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        expect(isPlainBelow(name, "/workspace/d") && !name.startsWith("/workspace/d/")).toBe(false);
        expect(isPlainBelow(`/workspace/d/../${name}`, "/workspace/d")).toBe(false);
      }),
    );
    expect(isPlainBelow("/workspace/d/x", "/workspace/d")).toBe(true);
    expect(isPlainBelow("/workspace/dx", "/workspace/d")).toBe(false);
  });
});

describe("openWorkspaceFile", () => {
  it("reads the whole file and parts of it", async () => {
    tree.put("/workspace/a.txt", "0123456789");
    const file = await openWorkspaceFile(files, "/workspace/a.txt", ENDLESS);
    expect(file.sizeBytes).toBe(10);
    expect(await textOf(file.read(null, ENDLESS))).toBe("0123456789");
    expect(await textOf(file.read({ start: 2, end: 4 }, ENDLESS))).toBe("234");
  });

  it.each([
    ["/workspace/none", "file.not_found", "is not in the workspace"],
    ["/workspace/d", "box.validation", "not a regular file"],
    ["/workspace/link", "box.validation", "not a regular file"],
    ["/workspace/link/x", "box.validation", "escapes"],
    ["/workspace/closed", "box.validation", "cannot be read"],
  ])("refuses %s with %s", async (path, code, says) => {
    tree.put("/workspace/d/x", "");
    tree.root.children.set("link", tree.link("/etc"));
    tree.root.children.set("closed", tree.file(Buffer.from("x"), 0o000));
    await expect(openWorkspaceFile(files, path, ENDLESS)).rejects.toMatchObject(refusal(code, says));
  });

  it("fails when the file is another one by the time it is read", async () => {
    tree.put("/workspace/a.txt", "old");
    const file = await openWorkspaceFile(files, "/workspace/a.txt", ENDLESS);
    tree.put("/workspace/a.txt", "new");
    await expect(textOf(file.read(null, ENDLESS))).rejects.toMatchObject(refusal("box.conflict", "changed"));
  });

  it.each([
    ["more", ["ab", "cd", "ef"], "ab"],
    ["fewer", ["ab"], "ab"],
  ])("passes on no byte too many and fails when %s come than the box said", async (_case, sent, passed) => {
    tree.put("/workspace/a.txt", "abc");
    const file = await openWorkspaceFile(files, "/workspace/a.txt", ENDLESS);
    files.read = async function* () {
      yield { type: "entry", index: 0, entry: anEntry({}) } satisfies FileStreamEvent;
      for (const text of sent) yield { type: "bytes", index: 0, bytes: Buffer.from(text) };
      yield { type: "end", index: 0 };
    };
    let seen = "";
    const reading = async () => {
      for await (const piece of file.read(null, ENDLESS)) seen += Buffer.from(piece).toString();
    };
    await expect(reading()).rejects.toMatchObject(refusal("box.conflict", "changed"));
    expect(seen).toBe(passed);
  });

  it("fails when the box does not answer at all", async () => {
    files.stat = async () => [];
    await expect(openWorkspaceFile(files, "/workspace/a", ENDLESS)).rejects.toMatchObject(
      refusal("box.readiness", "no answer"),
    );
  });
});

describe("writeWorkspaceFile", () => {
  it("writes exact bytes, makes parents, and replaces what was there", async () => {
    expect(await write("/workspace/new/a.txt", "a\0", "b")).toMatchObject({
      path: "/workspace/new/a.txt",
      kind: "file",
      bytes: 3,
    });
    expect(tree.text("/workspace/new/a.txt")).toBe("a\0b");
    await write("/workspace/new/a.txt", "");
    expect(tree.text("/workspace/new/a.txt")).toBe("");
  });

  it("refuses what is no file, what a link leads to, and what does not fit", async () => {
    tree.put("/workspace/d/x", "");
    tree.root.children.set("link", tree.link("/etc"));
    await expect(write("/workspace", "x")).rejects.toMatchObject(
      refusal("box.validation", "not a regular file"),
    );
    await expect(write("/workspace/d", "x")).rejects.toMatchObject(
      refusal("box.validation", "not a regular file"),
    );
    await expect(write("/workspace/link/x", "x")).rejects.toMatchObject(refusal("box.validation", "escapes"));
    await expect(write("/workspace/big", "x".repeat(1_000_001))).rejects.toMatchObject(
      refusal("box.quota", "no space"),
    );
  });

  it("fails when the box does not answer at all", async () => {
    files.write = async () => [];
    await expect(write("/workspace/a", "x")).rejects.toMatchObject(refusal("box.readiness", "no answer"));
  });
});

describe("removeWorkspaceFile", () => {
  it("removes a file, of a link the link, and a directory only when it is told to", async () => {
    tree.put("/workspace/d/x", "1");
    tree.root.children.set("link", tree.link("/workspace/d/x"));
    await remove("/workspace/link");
    expect(tree.text("/workspace/d/x")).toBe("1");
    await expect(remove("/workspace/d")).rejects.toMatchObject(
      refusal("box.validation", "not a regular file"),
    );
    await expect(remove("/workspace/d")).rejects.toMatchObject({
      hint: "A directory is removed with all in it by recursive=true.",
    });
    await remove("/workspace/d", true);
    expect([...tree.root.children.keys()]).toEqual([]);
  });

  it("never removes the workspace itself, and says what is not there", async () => {
    await expect(remove("/workspace", true)).rejects.toMatchObject(
      refusal("box.validation", "cannot be changed"),
    );
    await expect(remove("/workspace/none")).rejects.toMatchObject(
      refusal("file.not_found", "not in the workspace"),
    );
  });

  it("fails when the box does not say what became of it", async () => {
    files.remove = async () => [{ path: "/workspace/a", ok: false }];
    await expect(remove("/workspace/a")).rejects.toMatchObject(
      refusal("box.validation", "cannot be changed"),
    );
    files.remove = async () => [];
    await expect(remove("/workspace/a")).rejects.toMatchObject(refusal("box.readiness", "no answer"));
  });
});
