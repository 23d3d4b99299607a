import { describe, expect, it } from "vitest";
import { Breather } from "../../../src/lib/breather.js";

describe("Breather", () => {
  it("lets others go on when a piece of work takes long", async () => {
    const served = { count: 0 };
    setImmediate(() => (served.count += 1));
    const breather = new Breather();
    for (let steps = 0; served.count === 0 && steps < 50_000_000; steps += 1) await breather.breathe();
    expect(served.count).toBe(1);
  });
});
