import { describe, expect, it } from "vitest";
import { makeExecBody, refusedWorkdir } from "../../../../src/adapters/docker/exec-request.js";
import { textLike } from "../../../support/text-like.js";

const REQUEST = { argv: ["sh", "-lc", "true"], workdir: "/workspace/a/../b", env: {}, timeoutMs: 5000 };

const argvOf = (length: number) => ["sh", "-lc", "x".repeat(length)];

describe("makeExecBody", () => {
  it("puts a command into the worker's words, with a second line a second later", () => {
    expect(makeExecBody({ ...REQUEST, env: { GREETING: "hello world", LANG: "de_DE.UTF-8" } }, 2)).toEqual({
      op: "exec",
      parts: ["b"],
      argv: ["sh", "-lc", "true"],
      env: {
        HOME: "/workspace/.home",
        LANG: "de_DE.UTF-8",
        LOGNAME: "boxuser",
        PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        USER: "boxuser",
        GREETING: "hello world",
      },
      timeout_ms: 6000,
      disk_bytes: 2_097_152,
      disk_entries: 100_000,
    });
  });

  it.each([
    ["an empty command", { argv: [] }, /empty/],
    ["an empty program", { argv: ["", "x"] }, /empty/],
    ["NUL in an argument", { argv: ["echo", "\0"] }, /NUL/],
    ["NUL in a variable", { env: { A: "\0" } }, /NUL/],
    ["text that is not Unicode", { argv: ["\udfff"] }, /Unicode/],
    ["a variable without a name", { env: { "": "x" } }, /not the name/],
    ["a variable with an odd name", { env: { "A=B": "x" } }, /"A=B" is not the name/],
    ["a working directory outside", { workdir: "/etc" }, /"\/etc" escapes \/workspace/],
    ["a relative working directory", { workdir: "a" }, /cannot be used \(bad_path\)/],
  ])("refuses %s", (_what, change, message) => {
    expect(() => makeExecBody({ ...REQUEST, ...change }, 0)).toThrow(
      expect.objectContaining({ code: "box.validation", message: textLike(message) }),
    );
  });

  it("refuses an argument above the kernel's limit, with limit and value, and takes one at the limit", () => {
    expect(makeExecBody({ ...REQUEST, argv: argvOf(131_071) }, 0)).toBeDefined();
    expect(() => makeExecBody({ ...REQUEST, argv: argvOf(131_072) }, 0)).toThrow(
      expect.objectContaining({
        code: "box.validation",
        message: "The command or one of its arguments has 131072 bytes; the limit is 131071.",
        details: { limit: 131_071, value: 131_072 },
      }),
    );
  });

  it("refuses more than the kernel takes in all", () => {
    const argv = Array.from({ length: 21 }, () => "é".repeat(50_000));
    expect(() => makeExecBody({ ...REQUEST, argv }, 0)).toThrow(/bytes together; the limit is 2097152/);
  });
});

describe("refusedWorkdir", () => {
  it.each([
    ["symlink_component", "has a link in it"],
    ["not_directory", "has something in it that is no directory"],
    ["no_space", "no space is left"],
    ["denied", "cannot be used (denied)"],
  ])("says why: %s", (fault, why) => {
    expect(refusedWorkdir("/workspace/x", fault).message).toContain(why);
  });
});
