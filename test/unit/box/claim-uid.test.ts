import { describe, expect, it } from "vitest";
import { claimUid } from "../../../src/box/claim-uid.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

describe("claimUid", () => {
  it("keeps a uid that nobody holds", async () => {
    expect(await claimUid(aWorld(), aSession(), ENDLESS)).toBe(30_001);
  });

  it("takes another one where a foreign container or another box holds it, and claims it at once", async () => {
    const world = aWorld();
    world.backend.foreignUids.push(30_001);
    await world.sessions.findOrCreate(aSession({ id: "ses_b", identity: "b", uid: 30_002 }));
    expect(await claimUid(world, aSession(), ENDLESS)).toBe(30_003);
    expect(world.boxes.get("ses_a")?.uid).toBe(30_003);
    expect(await claimUid(world, aSession({ id: "ses_c" }), ENDLESS)).toBe(30_004);
  });

  it("uses uids of sessions without a box where all are recorded", async () => {
    const world = aWorld();
    world.backend.foreignUids.push(30_001);
    world.sessions.listAll = async () =>
      Array.from({ length: 5000 }, (_none, index) => aSession({ uid: 30_001 + index }));
    expect(await claimUid(world, aSession(), ENDLESS)).toBe(30_002);
  });

  it("removes the session's own container that was left behind, and keeps the uid", async () => {
    const world = aWorld();
    const session = aSession({ container: "left" });
    const place = { ...session, sessionId: session.id, container: "left" };
    await world.backend.prepareWorkspace(place, SETTINGS, ENDLESS);
    await world.backend.start(place, SETTINGS, ENDLESS);
    expect(await claimUid(world, session, ENDLESS)).toBe(30_001);
    expect((await world.backend.listOwned(ENDLESS)).containers).toEqual([]);
  });

  it("gives the uid up where another box holds it, whatever was left behind", async () => {
    const world = aWorld();
    const session = aSession({ container: "left" });
    const place = { ...session, sessionId: session.id, container: "left" };
    await world.backend.prepareWorkspace(place, SETTINGS, ENDLESS);
    await world.backend.start(place, SETTINGS, ENDLESS);
    world.boxes.set("ses_b", {
      tenant: "main",
      container: "b",
      uid: 30_001,
      settings: null,
      startedAt: null,
    });
    expect(await claimUid(world, session, ENDLESS)).toBe(30_002);
  });
});
