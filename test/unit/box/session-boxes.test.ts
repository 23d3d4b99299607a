import { beforeEach, describe, expect, it } from "vitest";
import { describeBoxes } from "../../../src/box/session-boxes.js";
import type { SessionRecord } from "../../../src/domain/session.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

const A = aSession({ container: "c-a", prepared: true });
const B = aSession({ id: "ses_b", container: "c-b", prepared: true, volume: "berth-ws-b", uid: 30_002 });

let world: ReturnType<typeof aWorld>;
const states = async (...records: readonly SessionRecord[]) => {
  const deps = { ...world, defaults: { settings: SETTINGS, profile: "default" } };
  return (await describeBoxes(deps, records, ENDLESS)).map(({ state }) => state);
};

beforeEach(async () => {
  world = aWorld();
  for (const record of [A, B]) {
    const place = { ...record, sessionId: record.id, container: record.container ?? "" };
    await world.backend.prepareWorkspace(place, SETTINGS, ENDLESS);
    await world.backend.start(place, SETTINGS, ENDLESS);
  }
});

describe("describeBoxes", () => {
  it("asks the engine once, whatever the number of boxes", async () => {
    let questions = 0;
    const inspect = world.backend.inspect.bind(world.backend);
    const listOwned = world.backend.listOwned.bind(world.backend);
    world.backend.inspect = async (...given) => {
      questions += 1;
      return inspect(...given);
    };
    world.backend.listOwned = async (...given) => {
      questions += 1;
      return listOwned(...given);
    };
    await world.backend.stop("c-b", ENDLESS);
    expect(await states(A, aSession({ id: "ses_c" }), B)).toEqual(["ready", "none", "stopped"]);
    expect(questions).toBe(1);
    expect(await states(A)).toEqual(["ready"]);
    expect(questions).toBe(2);
    expect(await states(aSession({ id: "ses_c" }))).toEqual(["none"]);
    expect(questions).toBe(2);
  });

  it("calls a box lost that is gone, and every box of an engine that does not answer", async () => {
    world.backend.killContainer("c-a");
    expect(await states(A)).toEqual(["lost"]);
    expect(await states(A, B)).toEqual(["lost", "ready"]);
    world.backend.isAvailable = false;
    expect(await states(A, B)).toEqual(["lost", "lost"]);
  });

  it("tells other failures, and stops with the caller's reason", async () => {
    world.backend.inspect = async () => {
      throw new Error("broken");
    };
    await expect(states(A)).rejects.toThrow("broken");
    const signal = AbortSignal.abort(new Error("cancelled"));
    const deps = { ...world, defaults: { settings: SETTINGS, profile: "default" } };
    await expect(describeBoxes(deps, [A, B], { signal })).rejects.toThrow("cancelled");
  });
});
