import { describe, expect, it } from "vitest";
import { SteeringEnds } from "../../../src/runs/steering-ends.js";
import { aRun } from "../../support/records.js";

describe("SteeringEnds", () => {
  it("queues what waits for a run that ends, unless its queue is cleared at that moment", () => {
    const ends = new SteeringEnds({ hasChat: () => true });
    expect(ends.of(aRun())).toBe("requeue");
    {
      using _clearing = ends.clear("run_1");
      expect([ends.of(aRun()), ends.of(aRun({ id: "run_2" }))]).toEqual(["clear", "requeue"]);
    }
    expect(ends.of(aRun())).toBe("requeue");
  });

  it("drops what waits where nobody can be answered any more", () => {
    const ends = new SteeringEnds({ hasChat: ({ tenant }) => tenant === "main" });
    using _clearing = ends.clear("run_1");
    expect(ends.of(aRun({ tenant: "gone" }))).toBe("drop");
  });
});
