import { describe, expect, it } from "vitest";
import { readServiceVersion } from "../../../src/compose/service-version.js";

describe("readServiceVersion", () => {
  it("reads the version of the package", () => {
    expect(readServiceVersion()).toMatch(/^\d+\.\d+\.\d+/);
  });
});
