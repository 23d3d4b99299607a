import { describe, expect, it } from "vitest";
import { chooseUid, containerName, FIRST_UID, volumeName } from "../../../src/box/box-names.js";
import { CountingIds } from "../../fakes/counting-ids.js";

describe("names on the engine", () => {
  it("carry digits of the identity and random ones, so that none comes twice", () => {
    const ids = new CountingIds();
    const identity = "0123456789abcdef0123456789abcdef";
    const names = [containerName(identity, ids), containerName(identity, ids), volumeName(identity, ids)];
    expect(names).toEqual([
      "berth-0123456789abcdef0123-00000001",
      "berth-0123456789abcdef0123-00000002",
      "berth-ws-0123456789abcdef0123-00000003",
    ]);
  });
});

describe("chooseUid", () => {
  it("gives the lowest free uid of the range, or none", () => {
    expect(chooseUid(new Set())).toBe(30_001);
    expect(chooseUid(new Set([30_001, 30_003]))).toBe(30_002);
    const all = new Set(Array.from({ length: 5000 }, (_none, index) => FIRST_UID + index));
    expect(chooseUid(all)).toBeNull();
  });
});
