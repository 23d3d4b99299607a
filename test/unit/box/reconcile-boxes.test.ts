import { beforeEach, describe, expect, it } from "vitest";
import { planReconciliation, reconcileBoxes } from "../../../src/box/reconcile-boxes.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

const container = (name: string, sessionId: string | null) => ({
  name,
  sessionId,
  uid: 1,
  state: "running" as const,
});

describe("planReconciliation", () => {
  const records = [
    aSession({ id: "ses_ok", container: "ok", volume: "v-ok" }),
    aSession({ id: "ses_lost", container: "lost", volume: "v-lost" }),
    aSession({ id: "ses_busy", container: "busy", volume: "v-busy" }),
    aSession({ id: "ses_due", volume: "v-due", prepared: true, lastUsedAt: 5 }),
    aSession({ id: "ses_young", volume: "v-young", prepared: true, lastUsedAt: 50 }),
    aSession({ id: "ses_empty", volume: "v-empty", lastUsedAt: 5 }),
  ];
  const owned = {
    containers: [
      container("ok", "ses_ok"),
      container("stray", null),
      container("old", "ses_ok"),
      container("new", "ses_busy"),
    ],
    volumes: ["v-ok", "v-due", "v-stray"],
  };
  const plan = planReconciliation(owned, records, { isBusy: (id) => id === "ses_busy", expiredBefore: 10 });

  it("removes what no record names, but nothing of a box that is made at this moment", () => {
    expect(plan.strayContainers).toEqual(["stray", "old"]);
    expect(plan.strayVolumes).toEqual(["v-stray"]);
  });

  it("finds records whose container is gone and workspaces that are due", () => {
    expect(plan.lost.map(({ id }) => id)).toEqual(["ses_lost"]);
    expect(plan.expired.map(({ id }) => id)).toEqual(["ses_due"]);
  });
});

describe("reconcileBoxes", () => {
  let world: ReturnType<typeof aWorld>;
  const deps = () => ({ ...world, workspaceTtlMs: 1000 });

  beforeEach(() => {
    world = aWorld();
  });

  it("looks again before it corrects a record, because a box may have come meanwhile", async () => {
    const session = await world.sessions.findOrCreate(aSession({ container: "c" }));
    const place = { ...session, sessionId: session.id, container: "c" };
    await world.backend.prepareWorkspace(place, SETTINGS, ENDLESS);
    await world.backend.start(place, SETTINGS, ENDLESS);
    world.backend.listOwned = async () => ({ containers: [], volumes: [] });
    await reconcileBoxes(deps(), ENDLESS);
    expect((await world.sessions.get("main", session.id))?.container).toBe("c");
  });

  it.each([
    ["rested", { container: null }, false],
    ["bound", {}, true],
  ])("leaves a record alone that was %s meanwhile", async (_name, change, isBound) => {
    const session = await world.sessions.findOrCreate(aSession({ container: "c", prepared: true }));
    using turn = await world.locks.acquire(session.id, ENDLESS);
    const round = reconcileBoxes(deps(), ENDLESS);
    await new Promise<void>((resolve) => void setImmediate(resolve));
    await world.sessions.update(session.id, change);
    using _hold = isBound ? world.boxes.hold(session.id) : null;
    turn[Symbol.dispose]();
    await round;
    expect(await world.sessions.get("main", session.id)).toMatchObject({ ...change, prepared: true });
    expect(world.logger.lines).toEqual([]);
  });

  it.each([
    ["used", { lastUsedAt: 1_700_000_000_000 }, false],
    ["bound", {}, true],
    ["opened", { container: "c" }, false],
  ])("keeps a workspace that was %s meanwhile", async (_name, change, isBound) => {
    const session = await world.sessions.findOrCreate(aSession({ prepared: true }));
    using turn = await world.locks.acquire(session.id, ENDLESS);
    const round = reconcileBoxes(deps(), ENDLESS);
    await new Promise<void>((resolve) => void setImmediate(resolve));
    if ("lastUsedAt" in change) await world.sessions.noteUse(session.id, change);
    else await world.sessions.update(session.id, change);
    using _hold = isBound ? world.boxes.hold(session.id) : null;
    turn[Symbol.dispose]();
    await round;
    expect((await world.sessions.get("main", session.id))?.prepared).toBe(true);
  });

  it("gives back what workspaces at rest hold of the host, and goes on when it cannot", async () => {
    await reconcileBoxes(deps(), ENDLESS);
    expect(world.backend.releases).toBe(1);
    world.backend.releaseUnused = async () => Promise.reject(new Error("busy"));
    await reconcileBoxes(deps(), ENDLESS);
    expect(world.logger.lines).toMatchObject([{ level: "warn", fields: { engine: "fake" } }]);
  });

  it("stops when it is told to", async () => {
    await world.sessions.findOrCreate(aSession({ prepared: true }));
    const stop = new AbortController();
    world.backend.removeWorkspace = async () => {
      stop.abort(new Error("stopped"));
      throw new Error("late");
    };
    await expect(reconcileBoxes(deps(), { signal: stop.signal })).rejects.toThrow("stopped");
  });
});
