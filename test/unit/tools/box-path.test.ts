import { describe, expect, it } from "vitest";
import { describeRefusedWrite } from "../../../src/tools/box-path.js";

describe("describeRefusedWrite", () => {
  it("names limit, use and the next step of a workspace without room, where they are known", () => {
    const space = "The workspace quota is 1 MiB and 1 MiB are in use. Remove files.";
    expect(describeRefusedWrite("/workspace/a", { ok: false, fault: "no_space", space })).toBe(
      `"/workspace/a" was not written. ${space}`,
    );
    expect(describeRefusedWrite("/workspace/a", { ok: false, fault: "no_space" })).toBe(
      '"/workspace/a" was not written: the workspace has no space left. Remove files that are not needed.',
    );
  });

  it("takes no answer for a place that may not be written", () => {
    expect(describeRefusedWrite(`/workspace/${"x".repeat(300)}`, undefined)).toMatch(
      /^"\/workspace\/x{189}…" was not written: the box user may not write there\.$/,
    );
  });
});
