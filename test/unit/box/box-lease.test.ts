import { describe, expect, it } from "vitest";
import { makeLease } from "../../../src/box/box-lease.js";
import { CleanupStack } from "../../../src/lib/cleanup-stack.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

describe("makeLease", () => {
  it("is counted until it is disposed of, and then releases what was taken, once", async () => {
    const { backend, leases, logger } = aWorld();
    const session = aSession({ container: "c" });
    const place = { ...session, sessionId: session.id, container: "c" };
    await backend.prepareWorkspace(place, SETTINGS, ENDLESS);
    await backend.start(place, SETTINGS, ENDLESS);
    const released: string[] = [];
    const facts = { session, notes: [], settings: SETTINGS, inbox: "/i", outbox: "/o" };
    await using handle = await backend.open(place, ENDLESS);
    await using lease = makeLease(
      { leases, logger },
      { ...facts, handle },
      new CleanupStack([() => void released.push("taken")]),
    );
    expect(leases.size).toBe(1);
    await lease[Symbol.asyncDispose]();
    await lease[Symbol.asyncDispose]();
    expect([leases.size, released]).toEqual([0, ["taken"]]);
  });
});
