import { beforeEach, describe, expect, it } from "vitest";
import {
  pauseBox,
  removeSession,
  restBox,
  sessionNotFound,
  stopBox,
  stopSession,
} from "../../../src/box/rest-box.js";
import type { SessionId } from "../../../src/domain/ids.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

let world: ReturnType<typeof aWorld>;
const containers = async () => (await world.backend.listOwned(ENDLESS)).containers.map(({ name }) => name);

beforeEach(async () => {
  world = aWorld();
  const session = await world.sessions.findOrCreate(aSession({ container: "c", prepared: true }));
  const place = { ...session, sessionId: session.id, container: "c" };
  await world.backend.prepareWorkspace(place, SETTINGS, ENDLESS);
  await world.backend.start(place, SETTINGS, ENDLESS);
  world.boxes.set(session.id, {
    tenant: "main",
    container: "c",
    uid: 30_001,
    settings: null,
    startedAt: null,
  });
});

describe("restBox", () => {
  it("removes the container and keeps the workspace", async () => {
    await restBox(world, "ses_a", ENDLESS);
    expect(await containers()).toEqual([]);
    expect((await world.sessions.get("main", "ses_a"))?.container).toBeNull();
    expect((await world.backend.listOwned(ENDLESS)).volumes).toHaveLength(1);
  });

  it("does nothing for a box it does not know, and for one that was never made", async () => {
    await restBox(world, "ses_unknown", ENDLESS);
    world.boxes.set("ses_b", { tenant: "main", container: null, uid: 2, settings: null, startedAt: null });
    await restBox(world, "ses_b", ENDLESS);
    expect(await containers()).toEqual(["c"]);
  });

  it("removes the container of a session whose record is gone", async () => {
    await world.sessions.remove("ses_a");
    await restBox(world, "ses_a", ENDLESS);
    expect(await containers()).toEqual([]);
  });
});

describe("pauseBox and stopBox", () => {
  it("keep the container", async () => {
    await pauseBox(world, "ses_a", ENDLESS);
    expect((await world.backend.inspect("c", ENDLESS))?.state).toBe("paused");
    await stopBox(world, "ses_a", ENDLESS);
    expect((await world.backend.inspect("c", ENDLESS))?.state).toBe("stopped");
  });

  it("do nothing for a box that is not known, and for one that was never made", async () => {
    await stopBox(world, "ses_none", ENDLESS);
    world.boxes.set("ses_b", { tenant: "main", container: null, uid: 2, settings: null, startedAt: null });
    await pauseBox(world, "ses_b", ENDLESS);
    await pauseBox(world, "ses_none", ENDLESS);
    await stopBox(world, "ses_b", ENDLESS);
    expect((await world.backend.inspect("c", ENDLESS))?.state).toBe("running");
  });
});

const rest = (id: SessionId) => restBox(world, id, ENDLESS);
const stopAs = (tenant = "main") => stopSession(world, { tenant, id: "ses_a", rest });

describe("stopSession", () => {
  it("gives the container up and keeps the workspace; done twice it changes nothing", async () => {
    await stopAs();
    await stopAs();
    expect(await containers()).toEqual([]);
    expect((await world.backend.listOwned(ENDLESS)).volumes).toHaveLength(1);
  });

  it("refuses while somebody holds the box, and knows no foreign session", async () => {
    using _hold = world.boxes.hold("ses_a");
    await expect(stopAs()).rejects.toThrow(expect.objectContaining({ code: "box.conflict" }));
    await expect(stopAs("other")).rejects.toThrow(expect.objectContaining({ code: "session.not_found" }));
    expect(await containers()).toEqual(["c"]);
  });

  it("does not mind who comes while it rests the box: they get a new one", async () => {
    const remove = world.backend.removeContainer.bind(world.backend);
    world.backend.removeContainer = async (name, options) => {
      world.boxes.hold("ses_a");
      await remove(name, options);
    };
    await stopAs();
    expect(await containers()).toEqual([]);
  });
});

describe("removeSession", () => {
  it("removes a session that has no container, and finds one that is gone already no failure", async () => {
    await restBox(world, "ses_a", ENDLESS);
    const of = { tenant: "main", id: "ses_a", force: false } as const;
    await Promise.all([removeSession(world, of, ENDLESS), removeSession(world, of, ENDLESS)]);
    expect(await world.sessions.listAll()).toEqual([]);
    expect((await world.backend.listOwned(ENDLESS)).volumes).toEqual([]);
  });

  it("keeps the record when it is stopped", async () => {
    const stop = new AbortController();
    world.backend.removeContainer = async () => {
      stop.abort(new Error("stopped"));
      throw new Error("late");
    };
    const of = { tenant: "main", id: "ses_a", force: false } as const;
    await expect(removeSession(world, of, { signal: stop.signal })).rejects.toThrow("stopped");
    expect(await world.sessions.listAll()).toHaveLength(1);
  });

  it("bounds what it says of an unknown id", () => {
    expect(sessionNotFound("x".repeat(500)).message.length).toBeLessThan(150);
  });
});
