import { describe, expect, it } from "vitest";
import { BOX_NOTES } from "../../../src/box/box-notes.js";
import { BoxOpener } from "../../../src/box/box-opener.js";
import { isDeleted, reopener } from "../../../src/box/reopen-box.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { aSession, aWorld, ENDLESS, SETTINGS } from "./box-world.js";

const DIRECTORIES = ["/workspace/inbox/run_1", "/workspace/outbox/run_1"];

async function anOpenBox() {
  const world = aWorld();
  const opener = new BoxOpener(world);
  const deps = { ...world, opener };
  const session = await world.sessions.findOrCreate(aSession());
  const opened = await opener.open(session, SETTINGS, ENDLESS);
  const first = await world.backend.open(opened.place, ENDLESS);
  await first.files.resetDirectories(DIRECTORIES, ENDLESS);
  const request = {
    id: session.id,
    tenant: "main",
    settings: SETTINGS,
    directories: DIRECTORIES,
    isRun: true,
  };
  const { container } = opened.place;
  return { ...world, deps, session, request, container, reopen: reopener(deps, request, opened), opened };
}

describe("reopener", () => {
  it("opens nothing while the box runs as it did", async () => {
    const { backend, reopen } = await anOpenBox();
    expect(await reopen(ENDLESS)).toBeNull();
    expect(backend.counts.opens).toBe(1);
  });

  it("makes a new box on the same workspace, the run's directories as they were", async () => {
    const { backend, sessions, container, reopen, session } = await anOpenBox();
    backend.tree(session.volume).walk(["outbox", "run_1", "kept"], "make");
    backend.killContainer(container);
    const reopened = await reopen(ENDLESS);
    expect(reopened?.notes).toEqual([BOX_NOTES.vanished]);
    const paths = ["/workspace/outbox/run_1/kept", "/workspace/inbox/run_1"];
    expect(await reopened?.handle.files.stat(paths, ENDLESS)).toMatchObject([{ entry: {} }, { entry: {} }]);
    const record = await sessions.get("main", session.id);
    expect(record?.container).not.toBe(container);
    expect(await reopen(ENDLESS)).toBeNull();
  });

  it("opens nothing for a tenant that is not admitted any longer", async () => {
    const { backend, container, deps, request, opened } = await anOpenBox();
    const refused = new ServiceError("box.admission", "The grant of the tenant has expired.");
    const admit = async () => Promise.reject(refused);
    const reopen = reopener({ ...deps, grants: { admit } }, request, opened);
    backend.killContainer(container);
    await expect(reopen(ENDLESS)).rejects.toBe(refused);
    expect(backend.counts.containersCreated).toBe(1);
  });

  it("says that the box was lost when somebody else had it made anew", async () => {
    const { backend, container, reopen, deps, request, opened } = await anOpenBox();
    const other = reopener(deps, request, opened);
    backend.killContainer(container);
    expect((await other(ENDLESS))?.notes).toEqual([BOX_NOTES.vanished]);
    expect((await reopen(ENDLESS))?.notes).toEqual([BOX_NOTES.vanished]);
    expect(backend.counts.containersCreated).toBe(2);
  });

  it("wakes a box that was paused, and nothing was lost", async () => {
    const { backend, container, reopen } = await anOpenBox();
    const inspect = backend.inspect.bind(backend);
    let isPaused = true;
    backend.inspect = async (name, options) => {
      const found = await inspect(name, options);
      return found !== null && name === container && isPaused ? { ...found, state: "paused" } : found;
    };
    const start = backend.start.bind(backend);
    backend.start = async (...call) => {
      isPaused = false;
      return start(...call);
    };
    expect((await reopen(ENDLESS))?.notes).toEqual([]);
  });

  it("opens a box that runs as it did when the last opening failed half-way", async () => {
    const { backend, container, reopen } = await anOpenBox();
    backend.killContainer(container);
    const open = backend.open.bind(backend);
    backend.open = async () => Promise.reject(new ServiceError("box.readiness", "Not yet."));
    await expect(reopen(ENDLESS)).rejects.toThrow("Not yet.");
    backend.open = open;
    expect(await reopen(ENDLESS)).not.toBeNull();
    expect(await reopen(ENDLESS)).toBeNull();
  });

  it("makes the run's directories again when the workspace itself is gone", async () => {
    const { backend, container, reopen, session } = await anOpenBox();
    backend.killContainer(container);
    await backend.removeWorkspace(session.volume, ENDLESS);
    const reopened = await reopen(ENDLESS);
    expect(reopened?.notes).toEqual([BOX_NOTES.workspace_lost]);
    expect(await reopened?.handle.files.stat(DIRECTORIES, ENDLESS)).toMatchObject([
      { entry: { kind: "directory" } },
      { entry: { kind: "directory" } },
    ]);
  });

  it("makes no directories for a lease that has none", async () => {
    const { backend, container, deps, request, opened, session } = await anOpenBox();
    const reopen = reopener(deps, { ...request, directories: [] }, opened);
    backend.killContainer(container);
    await backend.removeWorkspace(session.volume, ENDLESS);
    const reopened = await reopen(ENDLESS);
    expect(await reopened?.handle.files.stat(DIRECTORIES, ENDLESS)).toMatchObject([
      { fault: "not_found" },
      { fault: "not_found" },
    ]);
  });

  it("gets no box for a session that was deleted", async () => {
    const { backend, container, reopen, sessions, session } = await anOpenBox();
    backend.killContainer(container);
    await sessions.remove(session.id);
    await expect(reopen(ENDLESS)).rejects.toMatchObject({
      code: "box.not_found",
      message: `The session ${session.id} was deleted: its box and all its files are gone.`,
    });
  });
});

describe("isDeleted", () => {
  it("answers once a removal in progress has ended", async () => {
    const { deps, request, sessions, session, locks } = await anOpenBox();
    expect(await isDeleted(deps, request, ENDLESS)).toBe(false);
    let answer: Promise<boolean>;
    {
      using _turn = await locks.acquire(session.id, ENDLESS);
      answer = isDeleted(deps, request, ENDLESS);
      await sessions.remove(session.id);
    }
    expect(await answer).toBe(true);
  });
});
