import { beforeEach, describe, expect, it } from "vitest";
import { BoxOpener } from "../../../src/box/box-opener.js";
import { WarmPool } from "../../../src/box/warm-pool.js";
import { POOL_TENANT } from "../../../src/domain/session.js";
import { Gate } from "../../fakes/gate.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

let world: ReturnType<typeof aWorld>;
let isBusy: boolean;
let pool: WarmPool;

beforeEach(() => {
  world = aWorld();
  isBusy = false;
  pool = aPool();
});

const aPool = (size = 1, settings = SETTINGS) =>
  new WarmPool({ ...world, opener: new BoxOpener(world), isBusy: () => isBusy }, { size, settings });
const tend = (of = pool) => of.tend(ENDLESS);
const give = (name: string, of = pool) =>
  of.give({ tenant: "main", key: { key: name, identity: `identity-${name}` } });
const spares = () => world.sessions.list(POOL_TENANT, { limit: 100, after: null });
const owned = async () => {
  const { containers, volumes } = await world.backend.listOwned(ENDLESS);
  return { containers: containers.map(({ name }) => name), volumes };
};
const occupy = (...names: readonly string[]) => {
  for (const name of names)
    world.boxes.set(`ses_${name}`, {
      tenant: "main",
      container: name,
      uid: 1,
      settings: null,
      startedAt: null,
    });
};

/** What a service does when it begins with the records of another. */
async function takeOver(): Promise<void> {
  for (const { id, tenant, container, uid } of await world.sessions.listAll())
    world.boxes.set(id, { tenant, container, uid, settings: null, startedAt: null });
}

describe("WarmPool", () => {
  it("keeps as many boxes ready as it is told to, recorded before they are made", async () => {
    pool = aPool(2);
    const start = world.backend.start.bind(world.backend);
    const recorded: boolean[] = [];
    world.backend.start = async (place, ...more) => {
      recorded.push((await spares()).some(({ container }) => container === place.container));
      return start(place, ...more);
    };
    for (let i = 0; i < 4; i += 1) await tend();
    expect([pool.readyCount, recorded]).toEqual([2, [true, true]]);
    expect((await owned()).containers).toHaveLength(2);
    expect(world.boxes.count).toBe(2);
  });

  it("gives a new session box, workspace and uid, and serves one session only", async () => {
    await tend();
    const [spare] = await spares();
    const session = await give("a");
    expect(session).toEqual({
      ...spare,
      tenant: "main",
      identity: "identity-a",
      key: "a",
      createdAt: world.clock.now(),
      lastUsedAt: world.clock.now(),
    });
    expect([pool.readyCount, await spares(), await give("b")]).toEqual([0, [], null]);
    expect(world.boxes.get(session?.id ?? "ses_")).toMatchObject({ tenant: "main", settings: SETTINGS });
    await tend();
    expect(pool.readyCount).toBe(1);
    expect((await give("b"))?.id).not.toBe(session?.id);
  });

  it("keeps the box where the key has a session already", async () => {
    await tend();
    const known = await world.sessions.findOrCreate(aSession({ identity: "identity-a" }));
    expect(await give("a")).toEqual(known);
    expect(pool.readyCount).toBe(1);
  });

  it("gives none that is being rested, and none whose record is gone", async () => {
    await tend();
    const [spare] = await spares();
    const gate = new Gate();
    const closing = world.boxes.close(spare?.id ?? "ses_", async () => gate.opened);
    expect(await give("a")).toBeNull();
    gate.open();
    await closing;
    expect(await give("a")).toBeNull();
    world.clock.advance(30_000);
    await tend();
    const [next] = await spares();
    await world.sessions.remove(next?.id ?? "ses_");
    expect(await give("a")).toBeNull();
  });

  it("makes none while somebody waits for a box, and none where all places are taken", async () => {
    isBusy = true;
    await tend();
    isBusy = false;
    occupy("x", "y", "z");
    await tend();
    expect(await spares()).toEqual([]);
    expect(world.backend.counts.containersCreated).toBe(0);
  });

  it("makes nobody else's box go, also when the last place is taken meanwhile", async () => {
    const hold = world.boxes.hold.bind(world.boxes);
    world.boxes.hold = (id) => {
      occupy("x", "y", "z");
      return hold(id);
    };
    await tend();
    expect(world.backend.counts.containersCreated).toBe(0);
    world.clock.advance(30_000);
    await tend();
    expect([pool.readyCount, await spares()]).toEqual([0, []]);
  });

  it("is given up first when a place is needed, and what is left of it is removed", async () => {
    occupy("x", "y");
    world.clock.advance(60_000);
    await tend();
    const rested: string[] = [];
    const rest = async (id: string) => void rested.push(id);
    await world.boxes.reserve("ses_new", { tenant: "main", uid: 2, rest }, ENDLESS);
    expect(rested).toEqual([(await spares())[0]?.id]);
    world.clock.advance(30_000);
    await tend();
    expect([await spares(), (await owned()).volumes]).toEqual([[], []]);
    expect(pool.readyCount).toBe(0);
  });

  it("pauses after a failure, longer each time, and clears away what it left", async () => {
    const start = world.backend.start.bind(world.backend);
    let tries = 0;
    world.backend.start = async () => {
      tries += 1;
      throw new Error("no room");
    };
    const seen: number[] = [];
    for (const passed of [0, 4999, 1, 5000, 5000]) {
      world.clock.advance(passed);
      await tend();
      seen.push(tries);
    }
    expect(seen).toEqual([1, 1, 2, 2, 3]);
    world.backend.start = start;
    world.clock.advance(300_000);
    await tend();
    expect([pool.readyCount, (await spares()).length]).toEqual([1, 1]);
    expect(await owned()).toMatchObject({ containers: { length: 1 }, volumes: { length: 1 } });
    expect(world.errors.newest("main")).toHaveLength(3);
  });

  it("stops with the signal's reason", async () => {
    const stop = new AbortController();
    world.backend.start = async () => {
      stop.abort(new Error("stopping"));
      throw new Error("late");
    };
    await expect(pool.tend({ signal: stop.signal })).rejects.toThrow("stopping");
    expect(world.logger.lines.filter(({ message }) => message.includes("spare"))).toEqual([]);
  });

  it("takes over the boxes of the process before", async () => {
    await tend();
    const [before] = await spares();
    await takeOver();
    const next = aPool();
    await tend(next);
    expect([next.readyCount, await spares()]).toEqual([1, [before]]);
    expect((await give("a", next))?.container).toBe(before?.container);
    expect(world.backend.counts.containersCreated).toBe(1);
  });

  it.each([
    ["other settings", async () => aPool(1, { ...SETTINGS, memoryMb: 300 })],
    ["fewer boxes", async () => aPool(0)],
    [
      "a container that does not run",
      async () => {
        await world.backend.stop((await owned()).containers[0] ?? "", ENDLESS);
        return aPool();
      },
    ],
    [
      "a record without a container",
      async () => {
        const [{ id, container } = aSession()] = await spares();
        world.backend.killContainer(container ?? "");
        await world.sessions.update(id, { container: null });
        return aPool();
      },
    ],
  ])("removes a box of the process before: %s", async (_what, change) => {
    await tend();
    const [before] = await spares();
    const next = await change();
    await takeOver();
    await tend(next);
    expect((await spares()).map(({ id }) => id)).not.toContain(before?.id);
    expect((await owned()).volumes).not.toContain(before?.volume);
    expect((await spares()).length).toBe(next.readyCount);
  });

  it("replaces a box that is not what would be made at this moment", async () => {
    await tend();
    const [before] = await spares();
    world.clock.advance(29_999);
    await tend();
    world.backend.killContainer(before?.container ?? "");
    await tend();
    expect((await spares())[0]?.id).toBe(before?.id);
    world.clock.advance(1);
    await tend();
    expect((await spares())[0]?.id).not.toBe(before?.id);
    expect(pool.readyCount).toBe(1);
  });

  it("goes on with the others when one cannot be removed", async () => {
    pool = aPool(2);
    await tend();
    await tend();
    const [wedged, other] = await spares();
    await takeOver();
    const next = aPool(0);
    const remove = world.backend.removeContainer.bind(world.backend);
    world.backend.removeContainer = async (name, options) => {
      if (name === wedged?.container) throw new Error("wedged");
      await remove(name, options);
    };
    await tend(next);
    expect(await spares()).toEqual([wedged]);
    expect(await world.backend.inspect(other?.container ?? "", ENDLESS)).toBeNull();
    expect(world.errors.newest("main")).toHaveLength(1);
    const stop = new AbortController();
    world.backend.removeContainer = async () => {
      stop.abort(new Error("stopping"));
      throw new Error("late");
    };
    world.clock.advance(30_000);
    await expect(next.tend({ signal: stop.signal })).rejects.toThrow("stopping");
  });

  it.each([true, false])(
    "does not take back a box that is given to a session while it looks at it (good: %s)",
    async (isGood) => {
      await tend();
      const given = new Gate();
      world.backend.isCurrent = async () => {
        await given.opened;
        return isGood;
      };
      world.clock.advance(30_000);
      const round = tend();
      const session = await give("a");
      given.open();
      await round;
      expect(await world.sessions.get("main", session?.id ?? "ses_")).toEqual(session);
      const found = await world.backend.inspect(session?.container ?? "", ENDLESS);
      expect(found).toMatchObject({ state: "running" });
      expect((await give("b"))?.id).not.toBe(session?.id);
    },
  );

  it.each([true, false])("leaves an entry alone whose giving takes long (good: %s)", async (isGood) => {
    await tend();
    const [spare] = await spares();
    const [adopting, looking] = [new Gate(), new Gate()];
    const adopt = world.sessions.adopt.bind(world.sessions);
    world.sessions.adopt = async (...asked) => {
      await adopting.opened;
      return adopt(...asked);
    };
    world.backend.isCurrent = async () => {
      await looking.opened;
      return isGood;
    };
    world.clock.advance(30_000);
    const round = tend();
    await new Promise<void>((resolve) => void setImmediate(resolve));
    const giving = give("a");
    looking.open();
    await round;
    world.clock.advance(30_000);
    await tend();
    adopting.open();
    expect((await giving)?.id).toBe(spare?.id);
    const found = await world.backend.inspect(spare?.container ?? "", ENDLESS);
    expect(found).toMatchObject({ state: "running" });
  });
});
