import { describe, expect, it } from "vitest";
import { bindBox, leaseBox } from "../../../src/box/bind-box.js";
import { BOX_NOTES, FULL_NOTE } from "../../../src/box/box-notes.js";
import { BoxOpener } from "../../../src/box/box-opener.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { BOX_DELETED_NOTE, BOX_ENDED_NOTE } from "../../../src/domain/exec-outcome.js";
import type { ExecEvent } from "../../../src/ports/box-handle.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
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

  it("goes on in a full workspace, in the same box, and says that the directories are missing", async () => {
    const world = aWorld();
    const deps = { ...world, opener: new BoxOpener(world) };
    const open = world.backend.open.bind(world.backend);
    let opened = 0;
    world.backend.open = async (place, options) => {
      const handle = await open(place, options);
      opened += 1;
      handle.files.resetDirectories = async () => {
        throw new ServiceError("box.quota", "No space is left.");
      };
      return handle;
    };
    const request = { session: aSession(), runId: "run_1", settings: SETTINGS } as const;
    await using lease = await bindBox(deps, request, ENDLESS);
    expect(lease.notes).toEqual([FULL_NOTE]);
    expect(opened).toBe(1);
  });

  it("gives no false hope of files where its session was deleted in the middle of a command", async () => {
    const endOfBox = async function* (): AsyncIterable<ExecEvent> {
      await world.sessions.remove("ses_a");
      const exit = { status: "killed", exitCode: null, durationMs: 1, leftovers: 0 } as const;
      yield { type: "exit", exit: { ...exit, notes: [BOX_ENDED_NOTE] } };
    };
    const world = { ...aWorld(), backend: new FakeBoxBackend({ commands: endOfBox }) };
    const deps = { ...world, opener: new BoxOpener(world) };
    const session = await world.sessions.findOrCreate(aSession());
    await using lease = await bindBox(deps, { session, runId: "run_1", settings: SETTINGS }, ENDLESS);
    const command = { argv: ["work"], workdir: "/workspace", env: {}, timeoutMs: 1000 };
    const events: ExecEvent[] = [];
    for await (const event of lease.handle.exec(command, ENDLESS)) events.push(event);
    expect(events).toMatchObject([{ exit: { notes: [BOX_DELETED_NOTE] } }]);
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

describe("leaseBox", () => {
  it("makes no directories, and leaves what it found lost to the session's next run", async () => {
    const world = aWorld();
    const deps = { ...world, opener: new BoxOpener(world) };
    const session = await world.sessions.findOrCreate(aSession());
    const first = await bindBox(deps, { session, runId: "run_1", settings: SETTINGS }, ENDLESS);
    await first[Symbol.asyncDispose]();
    world.backend.killContainer(first.session.container ?? "");
    const byHand = await leaseBox(deps, { session, settings: SETTINGS }, ENDLESS);
    expect(byHand.notes).toEqual([BOX_NOTES.vanished]);
    expect([...world.backend.tree(session.volume).root.children.keys()]).toContain("outbox");
    expect(world.boxes.holds(session.id)).toBe(1);
    await byHand[Symbol.asyncDispose]();
    await using again = await leaseBox(deps, { session, settings: SETTINGS }, ENDLESS);
    expect(again.notes).toEqual([]);
    await using second = await bindBox(deps, { session, runId: "run_2", settings: SETTINGS }, ENDLESS);
    expect(second.notes).toEqual([BOX_NOTES.vanished]);
    await using third = await bindBox(deps, { session, runId: "run_3", settings: SETTINGS }, ENDLESS);
    expect(third.notes).toEqual([]);
    const outbox = await third.handle.files.list(
      { path: "/workspace/outbox", depth: 1, maxEntries: 9, skip: [] },
      ENDLESS,
    );
    expect(outbox).toMatchObject({ entries: [1, 2, 3].map((n) => ({ path: `/workspace/outbox/run_${n}` })) });
  });

  it("finds no session that was deleted, and holds nothing then", async () => {
    const world = aWorld();
    const deps = { ...world, opener: new BoxOpener(world) };
    await expect(leaseBox(deps, { session: aSession(), settings: SETTINGS }, ENDLESS)).rejects.toThrow(
      expect.objectContaining({ code: "session.not_found" }),
    );
    expect([world.boxes.holds("ses_a"), world.leases.size]).toEqual([0, 0]);
    expect(await world.sessions.listAll()).toEqual([]);
  });
});
