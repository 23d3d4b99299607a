import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { normalPath, toTarget } from "../../../src/domain/workspace-target.js";

describe("toTarget", () => {
  it.each([
    ["/workspace", { parts: [] }],
    ["/workspace/a//b/./c/", { parts: ["a", "b", "c"] }],
    ["/workspace/../workspace/a", { parts: ["a"] }],
    ["/workspace/../etc", { fault: "escapes" }],
    ["/workspaceevil/a", { fault: "escapes" }],
    ["a", { fault: "bad_path" }],
    ["", { fault: "bad_path" }],
    ["/workspace/\0", { fault: "bad_path" }],
  ])("reads %j", (path, target) => {
    expect(toTarget(path)).toEqual(target);
  });

  it("gives no name that leads elsewhere", () => {
    const path = fc
      .array(fc.constantFrom("a", "..", ".", "", "b\n", "é", "-rf"))
      .map((parts) => `/workspace/${parts.join("/")}`);
    fc.assert(
      fc.property(path, (text) => {
        const target = toTarget(text);
        const parts = "parts" in target ? target.parts : [];
        expect(
          parts.every((part) => part !== "" && part !== "." && part !== ".." && !part.includes("/")),
        ).toBe(true);
      }),
    );
  });
});

describe("normalPath", () => {
  it("leaves a path alone that has no normal form", () => {
    expect(normalPath("/workspace//a/")).toBe("/workspace/a");
    expect(normalPath("/etc")).toBe("/etc");
  });
});
