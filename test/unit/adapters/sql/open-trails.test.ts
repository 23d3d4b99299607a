import { describe, expect, it } from "vitest";
import { OpenTrails } from "../../../../src/adapters/sql/open-trails.js";

function aTrail(sequence: number) {
  return { sequence, keyframe: 1, keyframeChars: 1, addedChars: 0, content: "x" };
}

describe("OpenTrails", () => {
  it("forgets the run that was longest untouched when there are too many", () => {
    const trails = new OpenTrails(2);
    trails.keep("run_1", aTrail(1));
    trails.keep("run_2", aTrail(1));
    trails.keep("run_1", aTrail(2));
    trails.keep("run_3", aTrail(1));
    expect(trails.get("run_1")).toEqual(aTrail(2));
    expect(trails.get("run_2")).toBeNull();
    expect(trails.get("run_3")).toEqual(aTrail(1));
  });

  it("keeps the trail that leads farther, in whatever order they come", () => {
    const trails = new OpenTrails(2);
    trails.keep("run_1", aTrail(3));
    trails.keep("run_1", aTrail(2));
    expect(trails.get("run_1")).toEqual(aTrail(3));
  });

  it("forgets a run that is dropped", () => {
    const trails = new OpenTrails(2);
    trails.keep("run_1", aTrail(1));
    trails.drop("run_1");
    expect(trails.get("run_1")).toBeNull();
  });
});
