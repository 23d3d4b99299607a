import { describe, expect, it } from "vitest";
import { FIRST_UID } from "../../../src/box/box-names.js";
import { findOrCreateSession, requireKey } from "../../../src/box/find-session.js";
import { plainReuseKey, renderReuseKey } from "../../../src/box/reuse-key.js";
import { textLike } from "../../support/text-like.js";
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

const of = (text: string) => ({ tenant: "main", key: plainReuseKey(text, "main") });

describe("requireKey", () => {
  it("lets every key pass where none is required, and the required one", () => {
    expect(() => requireKey(null, of("person_1"))).not.toThrow();
    expect(() => requireKey("global", of("global"))).not.toThrow();
    expect(() =>
      requireKey("global", { tenant: "main", key: renderReuseKey("{global}", {}, "main") }),
    ).not.toThrow();
  });

  it("refuses another key, and names the required one", () => {
    expect(() => requireKey("global", of("person_1"))).toThrow(
      expect.objectContaining({ code: "box.validation", hint: textLike(/"global"/) }),
    );
  });
});
