import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EngineWatch } from "../../../src/box/engine-watch.js";
import { Upkeep } from "../../../src/box/upkeep.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

let world: ReturnType<typeof aWorld>;
let tended: number;

beforeEach(() => {
  vi.useFakeTimers();
  world = aWorld();
  tended = 0;
});
afterEach(() => void vi.useRealTimers());

function anUpkeep(schedule: { pauseMs: number; stopMs: number; removeMs: number } | null = null): Upkeep {
  const engine = new EngineWatch({ ...world, settings: SETTINGS });
  const pool = { tend: async () => void (tended += 1) };
  return new Upkeep({ ...world, engine, pool }, { schedule, maxBoxes: 3, workspaceTtlDays: 0 });
}

describe("Upkeep", () => {
  it("takes over the boxes that the records name, idle since their last use", async () => {
    const session = aSession({
      container: "berth-a-1",
      prepared: true,
      lastUsedAt: world.clock.now() - 5000,
    });
    await world.sessions.findOrCreate(session);
    world.backend.listOwned = async () => {
      throw new ServiceError("box.engine_unavailable", "no answer");
    };
    await using upkeep = anUpkeep();
    await upkeep.start(ENDLESS);
    expect(world.boxes.get(session.id)).toMatchObject({ container: "berth-a-1", settings: null });
    expect(world.boxes.idleMs(session.id)).toBe(5000);
  });

  it("compares nothing with an engine that does not answer, and starts all the same", async () => {
    let looked = 0;
    world.backend.probe = async () => {
      throw new ServiceError("box.engine_unavailable", "no answer");
    };
    world.backend.listOwned = async () => {
      looked += 1;
      return { containers: [], volumes: [] };
    };
    await using upkeep = anUpkeep();
    await upkeep.start(ENDLESS);
    await vi.advanceTimersByTimeAsync(1000);
    expect([looked, tended]).toEqual([0, 1]);
  });

  it("says so when a round fails, and goes on with the next", async () => {
    await using upkeep = anUpkeep();
    await upkeep.start(ENDLESS);
    let looked = 0;
    world.backend.listOwned = async () => {
      looked += 1;
      throw new Error("a list that fails");
    };
    await vi.advanceTimersByTimeAsync(121_000);
    expect(looked).toBe(2);
    expect(world.logger.lines).toContainEqual(
      expect.objectContaining({ level: "warn", message: "A round of looking after boxes failed." }),
    );
  });

  it("stops its rounds when it is disposed", async () => {
    const upkeep = anUpkeep({ pauseMs: 1000, stopMs: 10_000, removeMs: 100_000 });
    await upkeep.start(ENDLESS);
    await upkeep[Symbol.asyncDispose]();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(tended).toBe(0);
  });
});
