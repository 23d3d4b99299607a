import { describe, expect, it } from "vitest";
import { RandomIdSource } from "../../../../src/adapters/system/random-id-source.js";
import { ID_PREFIXES } from "../../../../src/domain/ids.js";

const ids = new RandomIdSource();

describe("RandomIdSource", () => {
  it.each(ID_PREFIXES)("gives %s ids 128 random bits", (prefix) => {
    expect(ids.create(prefix)).toMatch(new RegExp(`^${prefix}_[0-9a-f]{32}$`));
  });

  it("repeats no id", () => {
    const made = new Set(Array.from({ length: 1_000 }, () => ids.create("run")));
    expect(made.size).toBe(1_000);
  });

  it.each([0, 1, 2, 7, 32])("gives %d hex digits", (digits) => {
    expect(ids.randomHex(digits)).toMatch(new RegExp(`^[0-9a-f]{${digits}}$`));
  });
});
