import { describe, expect, it } from "vitest";
import { BOX_HOME, boxStateSchema, TOOL_RESULTS_DIR, WORKSPACE_ROOT } from "../../../src/domain/box.js";

describe("the workspace", () => {
  it("holds home and kept tool results, hidden from an ordinary listing", () => {
    expect(WORKSPACE_ROOT).toBe("/workspace");
    for (const folder of [BOX_HOME, TOOL_RESULTS_DIR]) expect(folder).toMatch(/^\/workspace\/\.[a-z-]+$/);
  });
});

describe("boxStateSchema", () => {
  it.each(["none", "starting", "ready", "paused", "stopped", "lost"])("knows %s", (state) => {
    expect(boxStateSchema.parse(state)).toBe(state);
  });

  it("knows no state of an engine", () => {
    expect(boxStateSchema.safeParse("exited").success).toBe(false);
  });
});
