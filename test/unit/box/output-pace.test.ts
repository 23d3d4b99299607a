import { describe, expect, it } from "vitest";
import { OutputPace } from "../../../src/box/output-pace.js";

const MIB = 1024 * 1024;

describe("OutputPace", () => {
  it("lets a burst through, then so much per second", () => {
    const pace = new OutputPace(0);
    expect(pace.take(8 * MIB, 0)).toBe(0);
    expect(pace.take(1024, 0)).toBe(0);
    expect(pace.take(4 * MIB, 0)).toBe(1001);
    expect(pace.take(0, 2000)).toBe(0);
  });

  it("saves no more than one burst up", () => {
    const pace = new OutputPace(0);
    expect(pace.take(0, 3_600_000)).toBe(0);
    expect(pace.take(10 * MIB, 3_600_000)).toBe(500);
  });
});
