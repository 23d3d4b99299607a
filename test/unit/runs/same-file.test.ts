import { describe, expect, it } from "vitest";
import { findSameFile, type SeenFile } from "../../../src/runs/same-file.js";

function seen(fields: Partial<SeenFile>): SeenFile {
  return { type: "image", source: "base64", id: null, url: null, sha256: null, ...fields };
}

const inChain = { source: "message_chain" } as const;

describe("findSameFile", () => {
  it.each([
    ["type and id", { id: "f1" }, { id: "f1", ...inChain }, 0],
    ["another type under one id", { id: "f1" }, { id: "f1", type: "file", ...inChain }, -1],
    ["another id, whatever the rest", { id: "f1", sha256: "a" }, { id: "f2", sha256: "a", ...inChain }, -1],
    ["the address where one has no id", { id: "f1", url: "u" }, { url: "u", ...inChain }, 0],
    [
      "another address, whatever the content",
      { url: "u", sha256: "a" },
      { url: "v", sha256: "a", ...inChain },
      -1,
    ],
    ["the content where there is no address", { sha256: "a" }, { sha256: "a", ...inChain }, 0],
    ["other content", { sha256: "a" }, { sha256: "b", ...inChain }, -1],
    ["nothing that both know", { url: "u" }, { sha256: "a", ...inChain }, -1],
    ["nothing known at all", {}, inChain, -1],
    ["the same source", { sha256: "a" }, { sha256: "a" }, -1],
  ] as const)("goes by %s", (_what, entry, file, index) => {
    expect(findSameFile([[seen(entry)]], seen(file))).toBe(index);
  });

  it("gives each file of a source an entry of its own", () => {
    const one = seen({ sha256: "a" });
    const chained = seen({ sha256: "a", ...inChain });
    expect(findSameFile([[one, chained], [one]], chained)).toBe(1);
    expect(findSameFile([[one, chained]], chained)).toBe(-1);
  });
});
