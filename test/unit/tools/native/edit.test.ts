import { describe, expect, it } from "vitest";
import { editTool as edit } from "../../../../src/tools/native/edit.js";
import { MAX_EDIT_BYTES } from "../../../../src/tools/native/replace-once.js";
import { errorOf, FakeToolBox, resultOf } from "../fake-tool-box.js";

const PATH = "/workspace/a.py";

function boxWith(content: string | Uint8Array): FakeToolBox {
  const box = new FakeToolBox();
  box.put(PATH, content);
  return box;
}

const replace = (old_string: string, new_string: string) => ({ path: "a.py", old_string, new_string });

describe("edit", () => {
  it("replaces the one place and leaves every other byte", async () => {
    const box = boxWith(Buffer.from("a = 1\r\nb = \xff\r\n", "latin1"));
    expect(await resultOf(edit, box, replace("b = ", "c = "))).toEqual({
      ok: true,
      path: PATH,
      size: 14,
      line: 2,
    });
    expect(box.tree.get(PATH)?.bytes).toEqual(Buffer.from("a = 1\r\nc = \xff\r\n", "latin1"));
  });

  it("takes new text as it is, without patterns", async () => {
    const box = boxWith("price");
    await resultOf(edit, box, replace("price", "$& $1 \\n"));
    expect(box.text(PATH)).toBe("$& $1 \\n");
  });

  it("says that the text is not there", async () => {
    const box = boxWith("a\n");
    expect(await errorOf(edit, box, replace("b", "c"))).toMatch(/was not found in "\/workspace\/a\.py"/);
    expect(await errorOf(edit, boxWith("a\r\nb\r\n"), replace("a\nb", "c"))).toMatch(
      /lines of the file end with/,
    );
  });

  it("gives the count of a text that occurs more than once, overlaps included", async () => {
    const box = boxWith("aaa x x x");
    expect(await errorOf(edit, box, replace("x", "y"))).toMatch(/occurs 3 times/);
    expect(await errorOf(edit, box, replace("aa", "b"))).toMatch(/occurs 2 times/);
    expect(box.text(PATH)).toBe("aaa x x x");
  });

  it("refuses a file and a result above 1 MiB", async () => {
    const large = boxWith(Buffer.alloc(MAX_EDIT_BYTES + 5, "x"));
    expect(await errorOf(edit, large, replace("y", "z"))).toMatch(
      /has 1048581 bytes; edit takes at most 1048576/,
    );
    const full = boxWith(`y${"x".repeat(MAX_EDIT_BYTES - 1)}`);
    expect(await errorOf(edit, full, replace("y", "zz"))).toMatch(/would have 1048577 bytes/);
    expect(await resultOf(edit, full, replace("y", "z"))).toMatchObject({ size: MAX_EDIT_BYTES });
  });

  it("says that a link escapes", async () => {
    const box = boxWith("a");
    box.links.add(PATH);
    expect(await errorOf(edit, box, replace("a", "b"))).toMatch(/escapes: a part of it is a symbolic link/);
  });

  it("notices a change made in between and leaves it alone", async () => {
    const box = boxWith("old");
    box.beforeWrite = () => box.put(PATH, "theirs");
    expect(await errorOf(edit, box, replace("old", "new"))).toMatch(/was changed by something else/);
    expect(box.text(PATH)).toBe("theirs");
  });

  it.each([
    [replace("", "x"), /old_string is empty/],
    [replace("a", "a"), /are the same/],
    [replace("a", "\uDC00"), /not valid Unicode/],
    [{ ...replace("a", "b"), path: "/etc/passwd" }, /escapes/],
    [{ ...replace("a", "b"), path: "none" }, /does not exist/],
    [{ path: "a.py", old_string: "a" }, /^Invalid input for edit: new_string: /],
  ])("refuses %j", async (input, reason) => {
    const box = boxWith("a");
    expect(await errorOf(edit, box, input)).toMatch(reason);
    expect(box.text(PATH)).toBe("a");
  });
});
