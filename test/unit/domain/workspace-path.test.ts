import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isWithin, MAX_PATH_CHARS, normaliseWorkspacePath } from "../../../src/domain/workspace-path.js";

const component = fc.oneof(
  fc.constantFrom(".", "..", "", "a", "b c", "workspace", "..x", "ä", "你好", "-rf", "$(id)"),
  fc.string({ unit: "binary", minLength: 1, maxLength: 6 }).filter((text) => !/[\0/]/u.test(text)),
);
const anyPath = fc
  .tuple(fc.constantFrom("", "/", "/workspace", "/workspace/"), fc.array(component, { maxLength: 8 }))
  .map(([start, parts]) => start + parts.join("/"));

describe("normaliseWorkspacePath", () => {
  it.each([
    ["a.txt", "/workspace/a.txt"],
    ["./a//b/", "/workspace/a/b"],
    ["/workspace", "/workspace"],
    ["/workspace/", "/workspace"],
    [".", "/workspace"],
    ["/workspace/a/../b", "/workspace/b"],
    ["../workspace/a", "/workspace/a"],
    ["/workspace/..hidden", "/workspace/..hidden"],
    [" a ", "/workspace/ a "],
    ["a\\..\\b", "/workspace/a\\..\\b"],
  ])("makes %j the absolute path %j", (path, expected) => {
    expect(normaliseWorkspacePath(path)).toEqual({ ok: true, path: expected });
  });

  it.each(["/", "..", "a/../..", "/etc/passwd", "/workspacex/a", "/workspace/../etc", "//etc", "/work"])(
    "says that %j escapes",
    (path) => {
      expect(normaliseWorkspacePath(path)).toEqual({ ok: false, fault: "escapes" });
    },
  );

  it.each(["", "a\0b", "a\uD800b", "x".repeat(MAX_PATH_CHARS + 1)])(
    "refuses a text that names no file",
    (path) => {
      expect(normaliseWorkspacePath(path)).toEqual({ ok: false, fault: "bad_path" });
    },
  );

  it("counts the limit after normalisation too, so that a relative path cannot grow past it", () => {
    expect(normaliseWorkspacePath("x".repeat(MAX_PATH_CHARS)).ok).toBe(false);
    expect(normaliseWorkspacePath("x".repeat(MAX_PATH_CHARS - "/workspace/".length)).ok).toBe(true);
  });

  it("gives a path below the workspace without dots, and gives the same for its own answer", () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        const answer = normaliseWorkspacePath(path);
        if (!answer.ok) return;
        expect(isWithin("/workspace", answer.path)).toBe(true);
        expect(answer.path.split("/").slice(1)).not.toEqual(
          expect.arrayContaining([expect.stringMatching(/^(\.|\.\.|)$/)]),
        );
        expect(normaliseWorkspacePath(answer.path)).toEqual(answer);
      }),
    );
  });

  it("agrees with the standard library on what stays inside", () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        fc.pre(path !== "");
        const resolved = posix.resolve("/workspace", path);
        const answer = normaliseWorkspacePath(path);
        expect(answer).toEqual(
          isWithin("/workspace", resolved) ? { ok: true, path: resolved } : { ok: false, fault: "escapes" },
        );
      }),
    );
  });
});

describe("isWithin", () => {
  it("compares whole components", () => {
    expect(isWithin("/workspace/a", "/workspace/a")).toBe(true);
    expect(isWithin("/workspace/a", "/workspace/a/b")).toBe(true);
    expect(isWithin("/workspace/a", "/workspace/ab")).toBe(false);
  });
});
