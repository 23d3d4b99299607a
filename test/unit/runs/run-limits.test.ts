import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runDeadlineSec } from "../../../src/runs/run-limits.js";

const inputs = (fields: object = {}) => ({
  defaultSec: 300,
  bindingSec: null,
  runnerTimeout: undefined,
  ...fields,
});

describe("runDeadlineSec", () => {
  it("is the default where nobody says otherwise", () => {
    expect(runDeadlineSec(inputs())).toBe(300);
  });

  it.each([1, 60, 3600])("is the binding's own deadline of %i s", (bindingSec) => {
    expect(runDeadlineSec(inputs({ bindingSec, runnerTimeout: 1000 }))).toBe(bindingSec);
  });

  it.each([0, -1, 3601, 1.5, Number.NaN])("takes no notice of a binding's deadline of %d", (bindingSec) => {
    expect(runDeadlineSec(inputs({ bindingSec }))).toBe(300);
  });

  it("leaves a runner with a longer timeout ten seconds more than that", () => {
    expect(runDeadlineSec(inputs({ runnerTimeout: 301 }))).toBe(311);
  });

  it("ends at 3600 s, whatever the runner's timeout is", () => {
    expect(runDeadlineSec(inputs({ runnerTimeout: 100_000 }))).toBe(3600);
  });

  it.each([12, 300, 0, null, -1, true, "900", 400.5])(
    "stays at the default for a runner's timeout of %o",
    (runnerTimeout) => {
      expect(runDeadlineSec(inputs({ runnerTimeout }))).toBe(300);
    },
  );

  it("is a whole number of seconds from 1 to 3600 for all that can be written", () => {
    const anything = fc.oneof(fc.integer(), fc.double(), fc.constant(null), fc.string(), fc.boolean());
    const number = fc.option(fc.oneof(fc.integer(), fc.double()), { nil: null });
    const any = fc.record({
      defaultSec: fc.integer({ min: 1, max: 10_000 }),
      bindingSec: number,
      runnerTimeout: anything,
    });
    fc.assert(
      fc.property(any, (given) => {
        const seconds = runDeadlineSec(given);
        expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= 3600).toBe(true);
      }),
    );
  });
});
