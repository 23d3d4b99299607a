import { describe, expect, it } from "vitest";
import { restartDelayMs } from "../../../../src/adapters/plugins/package-supervisor.js";

describe("restartDelayMs", () => {
  it("is nothing after the first failure, then doubles up to half a minute", () => {
    expect([0, 1, 2, 3, 4, 9, 1000].map(restartDelayMs)).toEqual([0, 0, 250, 500, 1000, 30_000, 30_000]);
  });
});
