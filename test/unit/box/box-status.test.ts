import { describe, expect, it } from "vitest";
import { describeStatus } from "../../../src/box/box-status.js";

const facts = { name: "e", version: "1", isolation: ["seccomp"], quota: "loop" as const, warnings: [] };

describe("describeStatus", () => {
  it("says unknown, never 0, where nothing is known", () => {
    const away = { state: "unavailable", code: "box.engine_unavailable", reason: "gone", hint: "" } as const;
    for (const state of ["disabled", { state: "unknown" }, away] as const)
      expect(describeStatus(state, { limit: 5, used: 2 })).toMatchObject({
        available: false,
        limit: null,
        used: null,
        remaining: null,
      });
    expect(describeStatus({ state: "unknown" }, { limit: 5, used: 2 }).reason).toContain("not probed");
  });

  it("never tells less than none remaining", () => {
    const status = describeStatus({ state: "available", facts }, { limit: 5, used: 7 });
    expect(status).toMatchObject({ remaining: 0, used: 7, isolation: ["seccomp"], quota: "loop" });
  });
});
