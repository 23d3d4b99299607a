import { describe, expect, it } from "vitest";
import { BOX_NOTES, UntoldNotes } from "../../../src/box/box-notes.js";

describe("BOX_NOTES", () => {
  it("say in one sentence each what is gone, and what stayed where something did", () => {
    for (const note of Object.values(BOX_NOTES)) expect(note).toMatch(/^The [^\n]+ gone[;.]/);
    for (const name of ["rested", "vanished", "restarted", "replaced", "changed"] as const)
      expect(BOX_NOTES[name]).toContain("the files of /workspace are kept");
  });
});

describe("UntoldNotes", () => {
  it("keep each sentence once, until they are taken", () => {
    const untold = new UntoldNotes();
    untold.keep("ses_a", ["one"]);
    untold.keep("ses_a", ["two", "one"]);
    untold.keep("ses_b", []);
    expect(untold.take("ses_b")).toEqual([]);
    expect(untold.take("ses_a", ["two", "three"])).toEqual(["one", "two", "three"]);
    expect(untold.take("ses_a", ["four"])).toEqual(["four"]);
  });

  it("are kept of a bounded number of sessions", () => {
    const untold = new UntoldNotes();
    for (let i = 0; i <= 10_000; i += 1) untold.keep(`ses_${i}`, ["lost"]);
    expect([untold.take("ses_0"), untold.take("ses_1"), untold.take("ses_10000")]).toEqual([
      [],
      ["lost"],
      ["lost"],
    ]);
  });
});
