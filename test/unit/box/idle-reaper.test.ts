import { beforeEach, describe, expect, it } from "vitest";
import { IdleReaper } from "../../../src/box/idle-reaper.js";
import type { SessionId } from "../../../src/domain/ids.js";
import { Gate } from "../../fakes/gate.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

const SCHEDULE = { pauseMs: 1000, stopMs: 10_000, removeMs: 100_000 };

let world: ReturnType<typeof aWorld>;

beforeEach(() => {
  world = aWorld(20);
});

const aReaper = (schedule = SCHEDULE, maxStopped = 20) => new IdleReaper(world, { schedule, maxStopped });

async function startBox(name: string): Promise<SessionId> {
  const id = `ses_${name}` as const;
  const fields = { id, identity: name, container: name, volume: `v-${name}`, prepared: true };
  const session = await world.sessions.findOrCreate(aSession(fields));
  const place = { ...session, sessionId: id, container: name };
  await world.backend.prepareWorkspace(place, SETTINGS, ENDLESS);
  await world.backend.start(place, SETTINGS, ENDLESS);
  world.boxes.set(id, { tenant: "main", container: name, uid: 1, settings: null, startedAt: null });
  return id;
}

/** One look, and all that it begins. */
const look = async (reaper: IdleReaper) => {
  reaper.look();
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
};
const state = async (name: string) => (await world.backend.inspect(name, ENDLESS))?.state ?? "gone";

describe("IdleReaper", () => {
  it("pauses, then stops, then removes", async () => {
    await using reaper = aReaper();
    await startBox("a");
    const seen: string[] = [];
    for (const passed of [999, 1, 8999, 1, 89_999, 1]) {
      world.clock.advance(passed);
      await look(reaper);
      seen.push(await state("a"));
    }
    expect(seen).toEqual(["running", "paused", "paused", "stopped", "stopped", "gone"]);
    expect(world.boxes.count).toBe(0);
  });

  it("stops a box in its time that cannot be paused, and asks only once", async () => {
    await using reaper = aReaper();
    await startBox("a");
    let asked = 0;
    world.backend.pause = async () => {
      asked += 1;
      throw new Error("unable to freeze");
    };
    for (const passed of [1000, 1000, 8000]) {
      world.clock.advance(passed);
      await look(reaper);
    }
    expect([asked, await state("a")]).toEqual([1, "stopped"]);
    expect(world.logger.text()).toContain("could not be paused");
  });

  it("is not held up by an engine call that hangs", async () => {
    await using reaper = aReaper();
    const gate = new Gate();
    const pause = world.backend.pause.bind(world.backend);
    world.backend.pause = async (name, options) => {
      if (name === "a") await gate.opened;
      await pause(name, options);
    };
    await startBox("a");
    world.clock.advance(1000);
    await look(reaper);
    await startBox("b");
    world.clock.advance(1000);
    await look(reaper);
    expect([await state("a"), await state("b")]).toEqual(["running", "paused"]);
    gate.open();
  });

  it("rests a bounded number of boxes at once, and the others as these are done", async () => {
    await using reaper = aReaper();
    const gate = new Gate();
    let [now, most] = [0, 0];
    world.backend.pause = async () => {
      now += 1;
      most = Math.max(most, now);
      await gate.opened;
      now -= 1;
    };
    for (let i = 0; i < 12; i += 1) await startBox(`box${i}`);
    world.clock.advance(1000);
    await look(reaper);
    await look(reaper);
    expect(most).toBe(8);
    gate.open();
    await look(reaper);
    await look(reaper);
    expect(world.boxes.idle().filter(({ tier }) => tier === "paused")).toHaveLength(12);
  });

  it("leaves a box that cannot be stopped alone for a while, and tries again", async () => {
    await using reaper = aReaper();
    await startBox("a");
    const stop = world.backend.stop.bind(world.backend);
    let asked = 0;
    world.backend.stop = async () => {
      asked += 1;
      throw new Error("wedged");
    };
    world.clock.advance(10_000);
    await look(reaper);
    await look(reaper);
    expect(asked).toBe(1);
    expect(world.errors.newest("main")).toHaveLength(1);
    world.backend.stop = stop;
    world.clock.advance(30_000);
    await look(reaper);
    expect(await state("a")).toBe("stopped");
  });

  it("keeps a bounded number of stopped containers", async () => {
    await using reaper = aReaper(SCHEDULE, 1);
    for (const name of ["a", "b"]) {
      await startBox(name);
      world.clock.advance(10_000);
      await look(reaper);
    }
    expect([await state("a"), await state("b")]).toEqual(["stopped", "gone"]);
  });

  it("says nothing of what its own end breaks off", async () => {
    const reaper = aReaper();
    await startBox("a");
    world.backend.stop = async (_name, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      signal.throwIfAborted();
    };
    world.clock.advance(10_000);
    await look(reaper);
    await reaper[Symbol.asyncDispose]();
    expect(world.logger.lines).toEqual([]);
  });
});
