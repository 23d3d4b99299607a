import { describe, expect, it } from "vitest";
import { bindBox } from "../../../src/box/bind-box.js";
import { BoxOpener } from "../../../src/box/box-opener.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

describe("bindBox", () => {
  it("gives a session that was deleted meanwhile a new record and a new box", async () => {
    const world = aWorld();
    const gone = aSession();
    const deps = { ...world, opener: new BoxOpener(world) };
    await using lease = await bindBox(deps, { session: gone, runId: "run_1", settings: SETTINGS }, ENDLESS);
    expect(lease.session.id).not.toBe(gone.id);
    expect(lease.session.key).toBe(gone.key);
    expect(world.leases.size).toBe(1);
  });

  it("holds nothing when the directories cannot be made, and gives the handle back", async () => {
    const world = aWorld();
    const deps = { ...world, opener: new BoxOpener(world) };
    const open = world.backend.open.bind(world.backend);
    let disposed = 0;
    world.backend.open = async (place, options) => {
      const handle = await open(place, options);
      handle.files.resetDirectories = async () => {
        throw new Error("read-only");
      };
      const dispose = handle[Symbol.asyncDispose].bind(handle);
      handle[Symbol.asyncDispose] = async () => {
        disposed += 1;
        await dispose();
      };
      return handle;
    };
    const request = { session: aSession(), runId: "run_1", settings: SETTINGS } as const;
    await expect(bindBox(deps, request, ENDLESS)).rejects.toThrow("read-only");
    expect(disposed).toBe(2);
    const [record] = await world.sessions.listAll();
    expect(world.boxes.holds(record?.id ?? "ses_")).toBe(0);
    expect(world.leases.size).toBe(0);
  });

  it("touches the time of last use at the beginning and at the end", async () => {
    const world = aWorld();
    const deps = { ...world, opener: new BoxOpener(world) };
    const session = await world.sessions.findOrCreate(aSession());
    const lease = await bindBox(deps, { session, runId: "run_1", settings: SETTINGS }, ENDLESS);
    const begun = world.clock.now();
    expect((await world.sessions.get("main", session.id))?.lastUsedAt).toBe(begun);
    world.clock.advance(5000);
    await lease[Symbol.asyncDispose]();
    expect((await world.sessions.get("main", session.id))?.lastUsedAt).toBe(begun + 5000);
  });
});
