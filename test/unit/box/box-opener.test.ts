import { beforeEach, describe, expect, it } from "vitest";
import { BOX_NOTES } from "../../../src/box/box-notes.js";
import { BoxOpener, type OpenedBox } from "../../../src/box/box-opener.js";
import { settingsFingerprint } from "../../../src/box/box-policy.js";
import { placeOf } from "../../../src/box/session-place.js";
import { POOL_TENANT, type SessionRecord } from "../../../src/domain/session.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

let world: ReturnType<typeof aWorld>;
let opener: BoxOpener;
let session: SessionRecord;

beforeEach(async () => {
  world = aWorld();
  opener = new BoxOpener(world);
  session = await world.sessions.findOrCreate(aSession());
});

/** As the pool leaves it. */
async function makeReady(): Promise<OpenedBox> {
  const opened = await opener.open({ ...session, tenant: POOL_TENANT, untold: null }, SETTINGS, ENDLESS);
  await (await world.backend.open(opened.place, ENDLESS))[Symbol.asyncDispose]();
  return opened;
}

describe("BoxOpener", () => {
  it("makes a first box without a note, with the record before the container", async () => {
    const opened = await opener.open(session, SETTINGS, ENDLESS);
    expect(opened.notes).toEqual([]);
    expect(await world.sessions.get("main", session.id)).toEqual(opened.session);
    expect(opened.session).toMatchObject({ prepared: true, settings: settingsFingerprint(SETTINGS) });
    expect(world.boxes.get(session.id)).toMatchObject({
      container: opened.place.container,
      settings: SETTINGS,
    });
  });

  it("tells a box rested before from a workspace removed before", async () => {
    const settings = settingsFingerprint(SETTINGS);
    await world.backend.prepareWorkspace({ ...session, sessionId: session.id }, SETTINGS, ENDLESS);
    const rested = await opener.open({ ...session, prepared: true, settings }, SETTINGS, ENDLESS);
    expect(rested.notes).toEqual([BOX_NOTES.rested]);
    await world.backend.removeContainer(rested.place.container, ENDLESS);
    const expired = await opener.open({ ...session, settings }, SETTINGS, ENDLESS);
    expect(expired.notes).toEqual([BOX_NOTES.expired]);
  });

  it("names no field where another process made the box that is in use", async () => {
    const { session: before } = await opener.open(session, SETTINGS, ENDLESS);
    world.boxes.set(session.id, { tenant: "main", container: "c", uid: 1, settings: null, startedAt: null });
    using _one = world.boxes.hold(session.id);
    using _two = world.boxes.hold(session.id);
    await expect(opener.open(before, { ...SETTINGS, cpus: 2 }, ENDLESS)).rejects.toThrow(
      expect.objectContaining({ code: "box.conflict", details: { fields: ["settings"] } }),
    );
  });

  it("adopts a running box of the process before", async () => {
    const { session: before } = await opener.open(session, SETTINGS, ENDLESS);
    world.boxes.forget(session.id);
    const opened = await opener.open(before, SETTINGS, ENDLESS);
    expect(opened.notes).toEqual([]);
    expect(world.boxes.count).toBe(1);
  });

  it("opens a ready box for its tenant and settings, without the engine", async () => {
    const { session: before, place } = await makeReady();
    const settings = { ...SETTINGS, execTimeoutSec: 7 };
    const ready = opener.openReady({ ...before, tenant: "main" }, settings);
    expect(ready).toMatchObject({ place: { ...place, tenant: "main" }, notes: [] });
    expect(world.boxes.get(session.id)).toMatchObject({ tenant: "main", settings });
  });

  it.each<readonly [string, (before: SessionRecord) => Promise<Partial<SessionRecord>>]>([
    ["that somebody has used", async () => ({ untold: [] })],
    ["that was rested", async () => ({ container: null })],
    ["whose record names another container", async () => ({ container: "other" })],
    ["that was made with other settings", async () => ({ settings: "other" })],
    ["that another process made", async () => (world.boxes.forget(session.id), {})],
    ["that sleeps", async () => (world.boxes.see(session.id, "stopped"), {})],
    ["without a helper", async () => (world.backend.dropHelpers(), {})],
    [
      "that was started again",
      async ({ container }) => {
        await world.backend.stop(container ?? "", ENDLESS);
        await world.backend.start(placeOf({ ...session, container: container ?? "" }), SETTINGS, ENDLESS);
        return {};
      },
    ],
  ])("does not take a box %s for a ready one", async (_name, change) => {
    const { session: before } = await makeReady();
    expect(opener.openReady({ ...before, ...(await change(before)) }, SETTINGS)).toBeNull();
  });

  it("does not replace a box whose waking was cancelled", async () => {
    const { session: before, place } = await opener.open(session, SETTINGS, ENDLESS);
    await world.backend.stop(place.container, ENDLESS);
    const cancel = new AbortController();
    world.backend.start = async () => {
      cancel.abort(new Error("cancelled"));
      throw new Error("late");
    };
    await expect(opener.open(before, SETTINGS, { signal: cancel.signal })).rejects.toThrow("cancelled");
    expect(await world.backend.inspect(place.container, ENDLESS)).not.toBeNull();
  });

  it("replaces a session that has no container by making one", async () => {
    const opened = await opener.replace(session, { settings: SETTINGS, notes: ["why"] }, ENDLESS);
    expect(opened.notes).toEqual(["why"]);
  });
});
