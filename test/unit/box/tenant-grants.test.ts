import { describe, expect, it } from "vitest";
import { MemoryGrantStore } from "../../../src/adapters/memory/memory-grant-store.js";
import { TenantGrants } from "../../../src/box/tenant-grants.js";
import type { GrantAnswer, GrantName } from "../../../src/domain/grant.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { KeptLogger } from "../../fakes/kept-logger.js";
import { proves } from "../../support/proves.js";
import { textLike } from "../../support/text-like.js";
import { ENDLESS } from "./box-world.js";

function aWorld(ids: ReadonlyMap<string, string> = new Map()) {
  const clock = new FakeClock();
  const logger = new KeptLogger();
  const asked: GrantName[] = [];
  const world = {
    clock,
    logger,
    asked,
    /** Null = the control plane is out. */
    answer: null as (() => Partial<GrantAnswer>) | null,
    grant: (change: Partial<GrantAnswer> = {}, inMs = 60_000) => {
      const expires_at = new Date(clock.now() + inMs).toISOString();
      world.answer = () => ({ expires_at, ...change });
    },
  };
  const source = {
    ask: async (name: GrantName): Promise<GrantAnswer> => {
      asked.push(name);
      if (world.answer === null) throw new Error("out");
      const { tenant, grantId } = name;
      const rest = { revision: 1, expires_at: "", boxes: 2, revoked: false };
      return { grant_id: grantId, tenant, ...rest, ...world.answer() };
    },
  };
  const deps = { source, grantRevisions: new MemoryGrantStore(), clock, logger };
  const grants = new TenantGrants(deps, { ids, tenants: new Set(["main", "other"]) });
  return Object.assign(world, { grants, deps });
}

describe("TenantGrants", () => {
  it("admits for a grant that goes on, and asks for it once", async () => {
    const world = aWorld(new Map([["main", "g-1"]]));
    world.grant();
    await expect(world.grants.admit("main", ENDLESS)).resolves.toBeUndefined();
    await expect(world.grants.admit("main", ENDLESS)).resolves.toBeUndefined();
    expect(world.asked).toEqual([{ tenant: "main", grantId: "g-1" }]);
  });

  it.each([
    { what: "no answer", set: () => {}, says: "no grant" },
    {
      what: "zero boxes",
      set: (world: ReturnType<typeof aWorld>) => world.grant({ boxes: 0 }),
      says: "0 boxes",
    },
    {
      what: "an expired one",
      set: (world: ReturnType<typeof aWorld>) => world.grant({}, -1),
      says: "expired",
    },
    {
      what: "a revoked one",
      set: (world: ReturnType<typeof aWorld>) => world.grant({ revoked: true }),
      says: "revoked",
    },
  ])("refuses for $what", async ({ set, says }) => {
    const world = aWorld();
    set(world);
    await expect(world.grants.admit("main", ENDLESS)).rejects.toMatchObject({
      code: "box.admission",
      message: textLike(new RegExp(says)),
    });
  });

  it("keeps a grant that goes on while the control plane is out, tells it once, and ends with the grant", async () => {
    proves("TEN-03");
    const world = aWorld();
    world.grant();
    await world.grants.admit("main", ENDLESS);
    world.answer = null;
    await world.grants.refresh("main", ENDLESS);
    await world.grants.refresh("main", ENDLESS);
    await expect(world.grants.admit("main", ENDLESS)).resolves.toBeUndefined();
    expect(world.logger.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
    world.clock.advance(30_000);
    world.grant();
    await world.grants.refresh("main", ENDLESS);
    world.answer = null;
    world.clock.advance(59_999);
    expect(await world.grants.findFault("main")).toBeNull();
    world.clock.advance(1);
    await expect(world.grants.admit("main", ENDLESS)).rejects.toMatchObject({ code: "box.admission" });
  });

  it.each([{ grant_id: "g-2" }, { tenant: "other" }])(
    "admits nobody for an answer that names %o, and revokes nothing",
    async (named) => {
      proves("TEN-04");
      const world = aWorld();
      world.grant(named);
      await expect(world.grants.admit("main", ENDLESS)).rejects.toMatchObject({ code: "box.admission" });
      world.grant();
      await world.grants.admit("main", ENDLESS);
      world.grant({ ...named, revision: 9, revoked: true });
      await world.grants.refresh("main", ENDLESS);
      await expect(world.grants.admit("main", ENDLESS)).resolves.toBeUndefined();
    },
  );

  it("does not take a revoked revision again, also not in a later process", async () => {
    const world = aWorld();
    world.grant();
    await world.grants.admit("main", ENDLESS);
    world.grant({ revoked: true });
    await world.grants.refresh("main", ENDLESS);
    world.grant();
    const later = new TenantGrants(world.deps, { ids: new Map(), tenants: new Set() });
    await expect(later.admit("main", ENDLESS)).rejects.toMatchObject({ code: "box.admission" });
    world.grant({ revision: 2 });
    await expect(later.admit("main", ENDLESS)).resolves.toBeUndefined();
  });

  it("renews those of all tenants, and leaves with its caller", async () => {
    const world = aWorld();
    world.grant();
    await world.grants.refreshAll(ENDLESS);
    expect(world.asked.map(({ tenant }) => tenant)).toEqual(["main", "other"]);
    const signal = AbortSignal.abort(new Error("left"));
    await expect(world.grants.refresh("main", { signal })).rejects.toThrow("left");
  });
});
