import { describe, expect, it } from "vitest";
import { makeBoxParts } from "../../../src/box/box-parts.js";
import { aWorld, ENDLESS, SERVICE_SETTINGS } from "./box-world.js";

describe("makeBoxParts", () => {
  it("fills the pool while the engine is there and nobody waits for a box", async () => {
    const { backend, sessions, clock, ids, logger } = aWorld();
    let isWanted = true;
    const of = { ...ENDLESS, isWanted: () => isWanted };
    const settings = { ...SERVICE_SETTINGS, warmPool: 1 };
    const parts = makeBoxParts({ backend, sessions, clock, ids, logger }, settings, of);
    await using engine = parts.engine;
    const tend = async (): Promise<number> => {
      await parts.pool.tend(ENDLESS);
      return parts.pool.readyCount;
    };
    isWanted = false;
    expect(await tend()).toBe(0);
    await engine.current(ENDLESS);
    isWanted = true;
    expect(await tend()).toBe(0);
    isWanted = false;
    expect(await tend()).toBe(1);
    expect(parts.boxes.count).toBe(1);
  });
});
