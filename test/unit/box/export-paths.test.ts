import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkExportPaths,
  runDirectories,
  showPath,
  suggestOutboxPath,
} from "../../../src/box/export-paths.js";

const run = runDirectories("run_1");
const faultOf = (path: unknown) => {
  const checked = checkExportPaths([path], run)[0];
  return checked !== undefined && "fault" in checked ? checked.fault : null;
};

describe("checkExportPaths", () => {
  it.each([
    [42, "not_text"],
    [null, "not_text"],
    ["", "bad_path"],
    ["/workspace/a\0.png", "bad_path"],
    ["/workspace/\uD800", "bad_path"],
    [`/workspace/${"n".repeat(256)}`, "bad_path"],
    [`/workspace/${"é".repeat(128)}`, "bad_path"],
    [`/workspace/${"d/".repeat(2100)}x`, "bad_path"],
    ["report.txt", "relative"],
    [".", "relative"],
    ["../x", "relative"],
    ["~/report.txt", "relative"],
    ["file:///etc/passwd", "relative"],
    ["/", "escapes"],
    ["/etc/passwd", "escapes"],
    ["/workspace/../etc/shadow", "escapes"],
    ["/workspaceevil/x", "escapes"],
    ["/workspace/outbox/run_1/../../../secret", "escapes"],
    ["/workspace", "directory_itself"],
    ["/workspace/inbox", "directory_itself"],
    ["/workspace/outbox/", "directory_itself"],
    ["/workspace/outbox/run_1", "directory_itself"],
    ["/workspace/inbox/run_1/.", "directory_itself"],
    ["/workspace/.skills/x/SKILL.md", "skills"],
    ["/workspace/outbox/run_1evil/report.txt", "other_run"],
    ["/workspace/outbox/run_2/a", "other_run"],
    ["/workspace/inbox/run_2/0/a", "other_run"],
    ["/workspace/outbox/a.txt", "other_run"],
    ["/workspace/outbox/run_1/a.txt", null],
    ["/workspace/inbox/run_1/0/a.txt", null],
    ["/workspace/report.md", null],
    ["/workspace/.skillset/a", null],
  ])("answers %s with %s", (path, fault) => {
    expect(faultOf(path)).toBe(fault);
  });

  it("finds a path that comes twice after normalisation", () => {
    const checked = checkExportPaths(["/workspace/a", "/workspace/./a", "/workspace/b"], run);
    expect(checked).toEqual([
      { given: "/workspace/a", path: "/workspace/a" },
      { given: "/workspace/./a", fault: "repeated" },
      { given: "/workspace/b", path: "/workspace/b" },
    ]);
  });

  it("lets only own places of the workspace pass, without dots", () => {
    const part = fc.constantFrom(
      "..",
      ".",
      "",
      "workspace",
      "outbox",
      "inbox",
      "run_1",
      "run_2",
      ".skills",
      "a",
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const checked = checkExportPaths([`/${parts.join("/")}`], run)[0];
        const path = checked !== undefined && "path" in checked ? checked.path : "/workspace/a";
        expect(path).toMatch(
          /^\/workspace\/(?:(?:in|out)box\/run_1\/|(?!\.skills(?:$|\/)|(?:in|out)box(?:$|\/)))[^/]+(?:\/[^/]+)*$/,
        );
        expect(path.split("/")).not.toContain("..");
      }),
    );
  });
});

describe("suggestOutboxPath", () => {
  it.each([
    ["out.txt", "/workspace/outbox/run_1/out.txt"],
    ["sub/out.txt", "/workspace/outbox/run_1/sub/out.txt"],
    ["./out.txt", "/workspace/outbox/run_1/out.txt"],
    ["outbox/run_1/out.txt", "/workspace/outbox/run_1/out.txt"],
    ["workspace/outbox/run_1/out.txt", "/workspace/outbox/run_1/out.txt"],
    ["../x", "/workspace/outbox/run_1/x"],
    ["..", "/workspace/outbox/run_1/<file>"],
  ])("turns %s into a path of this run's outbox", (relative, path) => {
    expect(suggestOutboxPath(relative, run)).toBe(path);
  });
});

describe("showPath", () => {
  it("keeps a path on one line and bounded", () => {
    expect(showPath('a"\n\u202e\\')).toBe('"a\\"\\u{a}\\u{202e}\\\\"');
    expect(showPath("x".repeat(5000)).length).toBeLessThan(310);
  });
});
