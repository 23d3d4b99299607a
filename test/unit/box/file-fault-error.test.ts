import { describe, expect, it } from "vitest";
import { fileFaultError, refusedWriteError } from "../../../src/box/file-fault-error.js";

describe("fileFaultError", () => {
  it.each([
    ["not_found", "file.not_found"],
    ["escapes", "box.validation"],
    ["symlink_component", "box.validation"],
    ["bad_path", "box.validation"],
    ["not_directory", "box.validation"],
    ["not_regular", "box.validation"],
    ["unreadable", "box.validation"],
    ["denied", "box.validation"],
    ["exists", "box.conflict"],
    ["changed", "box.conflict"],
    ["no_space", "box.quota"],
  ] as const)("makes %s a %s that names the path", (fault, code) => {
    const error = fileFaultError("/workspace/a.txt", fault);
    expect([error.code, error.param, error.details]).toEqual([code, "path", { fault }]);
    expect(error.message).toMatch(/^"\/workspace\/a\.txt" [^\n]+\.$/);
  });

  it("tells limit and use of a workspace without room for a file, where they are known", () => {
    const space = "The workspace quota is 1 MiB and 1 MiB are in use. Remove files.";
    const told = refusedWriteError("/workspace/a", { ok: false, fault: "no_space", space });
    expect(told).toMatchObject({
      code: "box.quota",
      param: "path",
      details: { fault: "no_space" },
      hint: space,
    });
    expect(refusedWriteError("/workspace/a", { ok: false, fault: "denied" }).hint).toBeUndefined();
  });

  it('says "escapes" of every path that leaves the workspace', () => {
    for (const fault of ["escapes", "symlink_component"] as const)
      expect(fileFaultError("/etc", fault).message).toContain("escapes");
  });

  it("shows a path in one bounded line", () => {
    const { message } = fileFaultError(`/workspace/\n${"x".repeat(5000)}`, "not_found");
    expect(message).toMatch(/^"\/workspace\/\\nx+…" is not in the workspace\.$/);
    expect(message.length).toBeLessThan(250);
  });
});
