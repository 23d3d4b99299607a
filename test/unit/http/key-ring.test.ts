import { describe, expect, it } from "vitest";
import { KeyRing } from "../../../src/http/key-ring.js";

const ring = new KeyRing([
  { key: "a".repeat(32), tenant: "one", role: "admin" },
  { key: "b".repeat(40), tenant: "two", role: "client" },
]);

describe("KeyRing", () => {
  it("finds tenant and role of a key", () => {
    expect(ring.find("a".repeat(32))).toEqual({ tenant: "one", role: "admin" });
    expect(ring.find("b".repeat(40))).toEqual({ tenant: "two", role: "client" });
  });

  it.each(["", "a".repeat(31), "a".repeat(33), "A".repeat(32), `${"a".repeat(32)} `, "日本語"])(
    "knows no key %j, of whatever length",
    (key) => {
      expect(ring.find(key)).toBeNull();
    },
  );

  it("keeps no key in clear", () => {
    expect(JSON.stringify(ring)).not.toContain("aaaa");
  });

  it("says whether there is any key", () => {
    expect([ring.isEmpty, new KeyRing([]).isEmpty]).toEqual([false, true]);
  });
});
