import { describe, expect, it } from "vitest";
import { closeUngranted } from "../../../src/box/close-tenants.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { POOL_TENANT } from "../../../src/domain/session.js";
import { aSession, aWorld, ENDLESS } from "./box-world.js";

const allow = (...tenants: readonly string[]) => ({
  findFault: async (tenant: string) => (tenants.includes(tenant) ? null : "The tenant has no grant."),
});

async function withBoxes() {
  const world = aWorld();
  const removed: string[] = [];
  const backend = Object.assign(world.backend, {
    removeContainer: async (container: string) => void removed.push(container),
  });
  for (const [id, tenant, container] of [
    ["ses_a", "main", "c-a"],
    ["ses_b", "other", "c-b"],
    ["ses_c", "main", null],
    ["ses_p", POOL_TENANT, "c-p"],
  ] as const) {
    await world.sessions.findOrCreate(
      aSession({ id, tenant, container, identity: id, volume: id, prepared: true }),
    );
    if (container !== null)
      world.boxes.set(id, { tenant, container, uid: 1, settings: null, startedAt: null });
  }
  return { world: { ...world, backend }, removed };
}

describe("closeUngranted", () => {
  it("removes the containers of tenants without a grant, in use or not, and keeps their workspaces", async () => {
    const { world, removed } = await withBoxes();
    using _use = world.boxes.hold("ses_a");
    await closeUngranted(world, allow("other"), ENDLESS);
    expect(removed).toEqual(["c-a"]);
    expect(await world.sessions.get("main", "ses_a")).toMatchObject({ container: null, prepared: true });
    expect(world.boxes.get("ses_a")).toBeNull();
    expect(world.boxes.get("ses_b")).not.toBeNull();
    await closeUngranted(world, allow("other"), ENDLESS);
    expect(removed).toEqual(["c-a"]);
  });

  it("leaves a box that somebody else closed meanwhile", async () => {
    const { world, removed } = await withBoxes();
    const turn = await world.locks.acquire("ses_a", ENDLESS);
    const closing = closeUngranted(world, allow("other"), ENDLESS);
    await world.sessions.update("ses_a", { container: null });
    turn[Symbol.dispose]();
    await closing;
    expect(removed).toEqual([]);
  });

  it("goes on with the others when the engine does not give one up", async () => {
    const { world, removed } = await withBoxes();
    const refuse = async (container: string) => {
      if (container === "c-a") throw new ServiceError("box.engine_unavailable", "It is not there.");
      removed.push(container);
    };
    await closeUngranted(
      { ...world, backend: Object.assign(world.backend, { removeContainer: refuse }) },
      allow(),
      ENDLESS,
    );
    expect(removed).toEqual(["c-b"]);
    expect(await world.sessions.get("main", "ses_a")).toMatchObject({ container: "c-a" });
    expect(world.logger.lines.map(({ message }) => message)).toContain(
      "A box of a tenant without a grant could not be closed.",
    );
  });

  it("ends with its caller", async () => {
    const { world } = await withBoxes();
    const signal = AbortSignal.abort(new Error("left"));
    await expect(closeUngranted(world, allow(), { signal })).rejects.toThrow("left");
  });
});
