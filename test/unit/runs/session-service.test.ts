import { beforeEach, describe, expect, it } from "vitest";
import type { SessionId } from "../../../src/domain/ids.js";
import { SessionService } from "../../../src/runs/session-service.js";
import { createExecTool } from "../../../src/tools/native/exec.js";
import { CountingIds } from "../../fakes/counting-ids.js";
import { aRun } from "../../support/records.js";
import { aRunWorld, NEVER, type RunWorld } from "../../support/run-world.js";

const ANN = { tenant: "main", role: "client" } as const;
const EVE = { tenant: "other", role: "admin" } as const;
const CALL = { signal: NEVER };

let world: RunWorld;
let service: SessionService;

beforeEach(() => {
  world = aRunWorld();
  const exec = createExecTool({ outputChars: 4000 });
  service = new SessionService({ ...world, ...world.stores, ids: new CountingIds(), exec });
});

async function aSession(key: string): Promise<SessionId> {
  return (await world.boxes.findOrCreateSession("main", { key, identity: key }, CALL)).id;
}

describe("SessionService", () => {
  it("lists the sessions of a tenant, newest first, in pages, each with its box", async () => {
    const ids = [await aSession("1"), await aSession("2"), await aSession("3")];
    const first = await service.list(ANN, { limit: 2 }, CALL);
    expect(first).toMatchObject({
      sessions: [
        { session: { id: ids[2] }, box: { session_id: ids[2], state: "none" } },
        { session: { id: ids[1] }, box: { session_id: ids[1] } },
      ],
      hasMore: true,
    });
    const second = await service.list(ANN, { limit: 2, after: ids[1] }, CALL);
    expect(second).toMatchObject({ sessions: [{ session: { key: "1" } }], hasMore: false });
    expect(await service.list(EVE, { limit: 2 }, CALL)).toEqual({ sessions: [], hasMore: false });
  });

  it("shows which chats use a session, and which of its runs have not ended", async () => {
    const id = await aSession("global");
    const session = { id, key: "global" };
    await world.stores.runs.create(aRun({ id: "run_1", session, state: "completed", createdAt: 1 }));
    await world.stores.runs.create(aRun({ id: "run_2", session, state: "running", createdAt: 2 }));
    await world.stores.runs.create(aRun({ id: "run_3", session, createdAt: 3 }));
    await world.stores.runs.create(aRun({ id: "run_4" }));
    expect(await service.get(ANN, id, CALL)).toMatchObject({
      session: { id },
      chats: [{ launcherType: "person", launcherId: "42", lastRunAt: 3 }],
      activeRuns: ["run_3", "run_2"],
    });
  });

  it("opens a box that is held until it is closed, then stops and removes it", async () => {
    const id = await aSession("1");
    const open = await service.open(ANN, id, CALL);
    expect((await service.get(ANN, id, CALL)).box).toMatchObject({ state: "ready", activity: { leases: 1 } });
    await expect(service.stop(ANN, id, CALL)).rejects.toMatchObject({ code: "box.conflict" });
    await expect(service.remove(ANN, id, { ...CALL, force: false })).rejects.toMatchObject({
      code: "box.conflict",
    });
    await open[Symbol.asyncDispose]();
    expect((await service.stop(ANN, id, CALL)).box.state).toBe("stopped");
    await service.remove(ANN, id, { ...CALL, force: false });
    await expect(service.check(ANN, id)).rejects.toMatchObject({ code: "session.not_found" });
  });

  it("removes a session that is in use when it is forced", async () => {
    const id = await aSession("1");
    await using _open = await service.open(ANN, id, CALL);
    await service.remove(ANN, id, { ...CALL, force: true });
    await expect(service.get(ANN, id, CALL)).rejects.toMatchObject({ code: "session.not_found" });
  });

  it("knows no session of another tenant", async () => {
    const id = await aSession("1");
    for (const work of [
      service.get(EVE, id, CALL),
      service.check(EVE, id),
      service.open(EVE, id, CALL),
      service.stop(EVE, id, CALL),
      service.remove(EVE, id, { ...CALL, force: true }),
    ])
      await expect(work).rejects.toMatchObject({ code: "session.not_found" });
    expect(world.backend.counts.containersCreated).toBe(0);
  });

  it("ends jobs and terminals with the session that is stopped or removed", async () => {
    const id = await aSession("1");
    const size = { rows: 24, columns: 80 };
    const start = async () => {
      const { session, jobs, terminals } = await service.processes(ANN, id);
      const job = { command: "cat", workdir: "/workspace", env: {} };
      return {
        job: await jobs.start(session, job, CALL),
        terminal: await terminals.open(session, size, CALL),
      };
    };
    const first = await start();
    expect((await service.get(ANN, id, CALL)).box).toMatchObject({ jobs: 1, activity: { leases: 2 } });
    const stopped = await service.stop(ANN, id, CALL);
    expect(stopped.box).toMatchObject({ state: "stopped", jobs: 0, activity: { leases: 0 } });
    expect(world.jobs.info(id, first.job.id)).toMatchObject({ status: "exited" });
    expect(first.terminal.process.exit).not.toBeNull();
    await start();
    await service.remove(ANN, id, { ...CALL, force: false });
    expect(world.jobs.list(id)).toEqual([]);
    expect([world.jobs.runningCount, world.terminals.count]).toEqual([0, 0]);
  });

  it("ends no job when the stop or the removal is refused, and all of them when it is forced", async () => {
    const id = await aSession("1");
    const { session, jobs } = await service.processes(ANN, id);
    await jobs.start(session, { command: "cat", workdir: "/workspace", env: {} }, CALL);
    await using _open = await service.open(ANN, id, CALL);
    await expect(service.stop(ANN, id, CALL)).rejects.toMatchObject({ code: "box.conflict" });
    await expect(service.remove(ANN, id, { ...CALL, force: false })).rejects.toMatchObject({
      code: "box.conflict",
    });
    expect(jobs.list(id)).toMatchObject([{ status: "running" }]);
    await service.remove(ANN, id, { ...CALL, force: true });
    expect(jobs.runningCount).toBe(0);
  });

  it("shows no jobs of another tenant's session", async () => {
    const id = await aSession("1");
    for (const act of [
      () => service.processes(EVE, id),
      () => service.stop(EVE, id, CALL),
      () => service.remove(EVE, id, { ...CALL, force: true }),
    ])
      await expect(act()).rejects.toMatchObject({ code: "session.not_found" });
  });
});
