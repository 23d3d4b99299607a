import { describe, expect, it } from "vitest";
import { addNotes, BOX_NOTES } from "../../../src/box/box-notes.js";

describe("BOX_NOTES", () => {
  it("say in one sentence each what is gone, and what stayed where something did", () => {
    for (const note of Object.values(BOX_NOTES)) expect(note).toMatch(/^The [^\n]+ gone[;.]/);
    for (const name of ["rested", "vanished", "restarted", "replaced", "changed"] as const)
      expect(BOX_NOTES[name]).toContain("the files of /workspace are kept");
  });
});

describe("addNotes", () => {
  it("keeps each sentence once, and none of a box that nobody has used", () => {
    expect(addNotes(["one"], ["two", "one"])).toEqual(["one", "two"]);
    expect(addNotes(null, ["one"])).toBeNull();
  });
});
