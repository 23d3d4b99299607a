import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileGlob } from "../../../src/lib/glob-pattern.js";

function matches(pattern: string, path: string): boolean {
  const glob = compileGlob(pattern);
  if (!glob.ok) throw new Error(glob.reason);
  return glob.matches(path);
}

describe("compileGlob", () => {
  it.each([
    ["*.py", "a.py"],
    ["*.py", ".py"],
    ["a*b*c", "aXbYbc"],
    ["*", "你好"],
    ["?", "😀"],
    ["[a-c]x", "bx"],
    ["[!a-c]x", "dx"],
    ["[]]", "]"],
    ["[a", "[a"],
    ["\\*", "*"],
    ["a\\", "a\\"],
    ["**", "a/b/c"],
    ["**/*.ts", "x.ts"],
    ["**/*.ts", "a/b/x.ts"],
    ["src/**/x", "src/x"],
    ["src/**/x", "src/a/b/x"],
    ["**/a/**/b", "x/a/y/a/z/b"],
    ["*.{ts,tsx}", "a.tsx"],
    ["{a,b{c,d}}/x", "bd/x"],
    ["{a}", "{a}"],
    ["{a,b", "{a,b"],
    ["\\{a,b\\}", "{a,b}"],
    ["a**b", "axxb"],
    ["a/*", "a/.hidden"],
    ["(a|b).txt", "(a|b).txt"],
  ])("%s matches %s", (pattern, path) => {
    expect(matches(pattern, path)).toBe(true);
  });

  it.each([
    ["*.py", "a.pyc"],
    ["*.py", "d/a.py"],
    ["*", "a/b"],
    ["?", "ab"],
    ["[a-c]x", "dx"],
    ["[!a-c]x", "ax"],
    ["\\*", "a"],
    ["**/*.ts", "a/x.js"],
    ["src/**/x", "srcx"],
    ["a**b", "a/b"],
    ["A", "a"],
    [".", "a"],
    ["", "a"],
    ["a/", "a"],
  ])("%s does not match %s", (pattern, path) => {
    expect(matches(pattern, path)).toBe(false);
  });

  it("refuses braces that multiply without bound", () => {
    expect(compileGlob("{a,b}".repeat(7))).toMatchObject({ ok: false });
    expect(compileGlob("{a,b}".repeat(6))).toMatchObject({ ok: true });
    expect(compileGlob(`${"{".repeat(500)}a,b${"}".repeat(500)}`)).toMatchObject({ ok: true });
  });

  it("matches every path as itself when its special characters are escaped", () => {
    const path = fc.string({ unit: "binary", minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(path, (sample) => {
        expect(matches(sample.replace(/[\\*?[\]{},!^-]/g, "\\$&"), sample)).toBe(true);
      }),
    );
  });

  it("agrees with a regular expression on stars and question marks", () => {
    const pattern = fc
      .array(fc.constantFrom("a", "b", "*", "?"), { maxLength: 8 })
      .map((all) => all.join(""));
    const name = fc.array(fc.constantFrom("a", "b"), { maxLength: 10 }).map((all) => all.join(""));
    fc.assert(
      fc.property(pattern, name, (glob, sample) => {
        const expected = new RegExp(`^${glob.replaceAll("*", ".*").replaceAll("?", ".")}$`).test(sample);
        expect(matches(glob, sample)).toBe(glob === "**" || expected);
      }),
      { numRuns: 500 },
    );
  });

  it("takes no more time for a pattern that would make a regular expression run away", () => {
    expect(matches("*a".repeat(40), `${"a".repeat(3000)}b`)).toBe(false);
  });
});
