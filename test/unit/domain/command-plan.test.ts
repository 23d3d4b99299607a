import { describe, expect, it } from "vitest";
import { planCommand, refusedWorkdir } from "../../../src/domain/command-plan.js";
import { textLike } from "../../support/text-like.js";

const COMMAND = { argv: ["sh", "-lc", "true"], workdir: "/workspace/a/../b", env: {} };
const MAX_BYTES = 2 * 1024 * 1024;

const argvOf = (length: number) => ["sh", "-lc", "x".repeat(length)];

describe("planCommand", () => {
  it("gives every command a home and a search path, and lets it have variables of its own", () => {
    expect(
      planCommand({ ...COMMAND, env: { GREETING: "hello world", LANG: "de_DE.UTF-8" } }, MAX_BYTES),
    ).toEqual({
      argv: ["sh", "-lc", "true"],
      parts: ["b"],
      env: {
        HOME: "/workspace/.home",
        LANG: "de_DE.UTF-8",
        LOGNAME: "boxuser",
        PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        USER: "boxuser",
        GREETING: "hello world",
      },
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
    expect(() => planCommand({ ...COMMAND, ...change }, MAX_BYTES)).toThrow(
      expect.objectContaining({ code: "box.validation", message: textLike(message) }),
    );
  });

  it("refuses an argument above the kernel's limit, with limit and value, and takes one at the limit", () => {
    expect(planCommand({ ...COMMAND, argv: argvOf(131_071) }, MAX_BYTES)).toBeDefined();
    expect(() => planCommand({ ...COMMAND, argv: argvOf(131_072) }, MAX_BYTES)).toThrow(
      expect.objectContaining({
        code: "box.validation",
        message: "The command or one of its arguments has 131072 bytes; the limit is 131071.",
        details: { limit: 131_071, value: 131_072 },
      }),
    );
  });

  it("refuses more than the kernel takes in all", () => {
    const argv = Array.from({ length: 21 }, () => "é".repeat(50_000));
    expect(() => planCommand({ ...COMMAND, argv }, MAX_BYTES)).toThrow(
      /bytes together; the limit is 2097152/,
    );
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
