import { describe, expect, it } from "vitest";
import { FIRST_UID } from "../../../src/box/box-names.js";
import { findOrCreateSession } from "../../../src/box/find-session.js";
import { aSession, aWorld, ENDLESS } from "./box-world.js";

const key = { key: "person_1", identity: "ab".repeat(32) };

describe("findOrCreateSession", () => {
  it("finds the record of an identity", async () => {
    const world = aWorld();
    const first = await findOrCreateSession(world, { tenant: "main", key }, ENDLESS);
    expect(await findOrCreateSession(world, { tenant: "main", key }, ENDLESS)).toEqual(first);
    expect(first).toMatchObject({ engine: "fake", key: "person_1", prepared: false, settings: null });
  });

  it("gives a new key a box of the pool, where there is one", async () => {
    const world = aWorld();
    const spare = aSession({ id: "ses_spare" });
    const deps = { ...world, pool: { give: async () => spare } };
    expect(await findOrCreateSession(deps, { tenant: "main", key }, ENDLESS)).toEqual(spare);
    expect(await world.sessions.listAll()).toEqual([]);
  });

  it("lends a uid of the range where more sessions are recorded than there are uids", async () => {
    const world = aWorld();
    world.sessions.listAll = async () =>
      Array.from({ length: 5000 }, (_none, index) => aSession({ uid: FIRST_UID + index }));
    const session = await findOrCreateSession(world, { tenant: "main", key }, ENDLESS);
    expect(session.uid).toBe(FIRST_UID);
  });
});
