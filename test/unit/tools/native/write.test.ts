import { describe, expect, it } from "vitest";
import { writeTool as write } from "../../../../src/tools/native/write.js";
import { proves } from "../../../support/proves.js";
import { errorOf, FakeToolBox, resultOf } from "../fake-tool-box.js";

describe("write", () => {
  it("makes a file with its directories, appends to it, and writes nothing for bad base64", async () => {
    proves("TOOL-05");
    const box = new FakeToolBox();
    expect(await resultOf(write, box, { path: "new/deep/a.txt", content: "one\n" })).toEqual({
      ok: true,
      path: "/workspace/new/deep/a.txt",
      size: 4,
      bytes_written: 4,
    });
    const appended = await resultOf(write, box, { path: "new/deep/a.txt", content: "zwei…", mode: "append" });
    expect(appended).toMatchObject({ size: 11, bytes_written: 7 });
    expect(box.text("/workspace/new/deep/a.txt")).toBe("one\nzwei…");
    expect(await errorOf(write, box, { path: "b.bin", content: "not base64!", encoding: "base64" })).toMatch(
      /not valid base64/,
    );
    expect(box.tree.has("/workspace/b.bin")).toBe(false);
  });

  it("writes the exact bytes of base64", async () => {
    const box = new FakeToolBox();
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    await resultOf(write, box, {
      path: "a",
      content: Buffer.from(bytes).toString("base64"),
      encoding: "base64",
    });
    expect(box.tree.get("/workspace/a")?.bytes).toEqual(Buffer.from(bytes));
  });

  it("replaces a file, bound to what it was when the call came", async () => {
    const box = new FakeToolBox();
    box.put("/workspace/a", "old");
    await resultOf(write, box, { path: "a", content: "" });
    expect(box.text("/workspace/a")).toBe("");
    expect(box.requests).toEqual(["stat", "write overwrite"]);
  });

  it("notices a change made in between and leaves it alone", async () => {
    const box = new FakeToolBox();
    box.put("/workspace/a", "old");
    box.beforeWrite = () => box.put("/workspace/a", "theirs");
    expect(await errorOf(write, box, { path: "a", content: "mine" })).toMatch(
      /was changed by something else/,
    );
    expect(box.text("/workspace/a")).toBe("theirs");
  });

  it("notices that somebody made the file in between", async () => {
    const box = new FakeToolBox();
    box.beforeWrite = () => box.put("/workspace/a", "theirs");
    expect(await errorOf(write, box, { path: "a", content: "mine" })).toMatch(/was made by something else/);
  });

  it("says that a link escapes", async () => {
    const box = new FakeToolBox();
    box.links.add("/workspace/a");
    expect(await errorOf(write, box, { path: "a", content: "x" })).toMatch(
      /escapes: a part of it is a symbolic link/,
    );
  });

  it("refuses to write over a directory", async () => {
    const box = new FakeToolBox();
    box.put("/workspace/d/a", "");
    expect(await errorOf(write, box, { path: "d", content: "x" })).toMatch(/is not a regular file/);
  });

  it.each([
    ["escapes", /escapes/],
    ["symlink_component", /escapes/],
    ["no_space", /no space left/],
    ["denied", /may not write/],
    ["not_directory", /is not a directory, or a part of it is none/],
  ] as const)("tells the fault %s", async (fault, reason) => {
    const box = new FakeToolBox();
    box.faults.set("/workspace/a", fault);
    expect(await errorOf(write, box, { path: "a", content: "x" })).toMatch(reason);
  });

  it.each([
    [{ path: "/etc/x", content: "" }, /escapes/],
    [{ path: "a", content: "\uD800" }, /not valid Unicode/],
    [{ path: "a" }, /^Invalid input for write: content: /],
    [{ path: "a", content: "", mode: "truncate" }, /^Invalid input for write: mode: /],
  ])("refuses %j without asking the box", async (input, reason) => {
    const box = new FakeToolBox();
    expect(await errorOf(write, box, input)).toMatch(reason);
    expect(box.requests).toEqual([]);
  });
});
