import { describe, expect, it } from "vitest";
import { formatArguments, imageBytes } from "../../../../src/adapters/loop-volumes/image-size.js";

const MIB = 1024 * 1024;

describe("imageBytes", () => {
  it.each([
    [1024, 100_000, 1076],
    [100, 3000, 110],
    [1, 1000, 15],
    [1_048_576, 1_000_000, 1_054_087],
  ])("leaves room for the whole quota: %i MiB and %i entries", (quotaMib, entries, imageMib) => {
    expect(imageBytes({ quotaMib, entries }) / MIB).toBe(imageMib);
  });

  it("grows with the quota and with the entries", () => {
    const size = imageBytes({ quotaMib: 100, entries: 3000 });
    expect(imageBytes({ quotaMib: 101, entries: 3000 })).toBeGreaterThan(size);
    expect(imageBytes({ quotaMib: 100, entries: 30_000 })).toBeGreaterThan(size);
  });
});

describe("formatArguments", () => {
  it("says everything that a machine could set otherwise, and the file last", () => {
    const said = "-q -F -m 0 -b 4096 -I 256 -N 3016 -J size=4 -E lazy_itable_init=1,lazy_journal_init=1";
    const image = "/data with space/image";
    expect(formatArguments(image, { quotaMib: 100, entries: 3000 })).toEqual([...said.split(" "), image]);
  });
});
