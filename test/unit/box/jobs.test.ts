import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BoxService } from "../../../src/box/box-service.js";
import { Jobs, type JobsSettings } from "../../../src/box/jobs.js";
import type { SessionRecord } from "../../../src/domain/session.js";
import { CleanupStack } from "../../../src/lib/cleanup-stack.js";
import { SecretMask } from "../../../src/lib/secret-mask.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { exited, type FakeCommand, printed } from "../../fakes/fake-box-commands.js";
import { aWorld, ENDLESS, SERVICE_SETTINGS } from "./box-world.js";

const WORKDIR = "/workspace";
const LIMITS: JobsSettings = { maxRunning: 3, maxEnded: 3, endedTtlSec: 300 };

/** `stubborn` does not end by TERM; `fail` prints an error. */
const commands: FakeCommand = ({ argv }) => (argv[2] === "fail" ? fail() : null);

async function* fail() {
  yield printed("x".repeat(5000), "stderr");
  yield printed("é".slice(0, 1), "stderr");
  yield exited(7);
}

let life: CleanupStack;

async function aService(settings: Partial<JobsSettings> = {}) {
  const world = { ...aWorld(), backend: new FakeBoxBackend({ commands }) };
  const boxes = new BoxService(world, SERVICE_SETTINGS);
  life.use(boxes);
  const lease: ConstructorParameters<typeof Jobs>[0]["lease"] = (session, options) =>
    boxes.lease(session, options);
  const deps = { ...world, lease, mask: new SecretMask(["secret-word"]) };
  const jobs = life.use(new Jobs(deps, { ...LIMITS, ...settings }));
  const aSession = (key: string): Promise<SessionRecord> =>
    boxes.findOrCreateSession("main", { key, identity: key }, ENDLESS);
  const session = await aSession("a");
  const start = (command: string, id?: string) =>
    jobs.start(session, { id, command, workdir: WORKDIR, env: {} }, ENDLESS);
  const entry = async () => (await boxes.describe([session], ENDLESS))[0];
  return { world, boxes, jobs, session, aSession, start, entry, of: jobs.of(session) };
}

describe("Jobs", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    life = new CleanupStack();
  });
  afterEach(async () => {
    vi.useRealTimers();
    await life[Symbol.asyncDispose]();
  });

  it("starts a job under a new id, shows it while it runs, and its code when it has ended by itself", async () => {
    const { jobs, session, start, of } = await aService();
    const running = await start("cat");
    expect(running).toMatchObject({ status: "running", exit_code: null, ended_at: null, command: "cat" });
    expect(running.id).toMatch(/^job_/);
    expect(jobs.info(session.id, running.id)).toEqual(running);
    expect(of.list()).toEqual([running]);
    expect(jobs.runningCount).toBe(1);
    const other = await of.start({ id: "other", command: "true", workdir: WORKDIR, env: {} }, ENDLESS);
    expect(of.list().map(({ id }) => id)).toEqual(["other", running.id]);
    await of.wait(other.id, 1000, ENDLESS);
    await of.input(running.id, null, ENDLESS);
    const ended = await of.wait(running.id, 1000, ENDLESS);
    expect(ended).toMatchObject({ status: "exited", exit_code: 0 });
    expect(ended.ended_at).not.toBeNull();
  });

  it("shows at most 4000 characters of standard error, and neither secrets nor long commands", async () => {
    const { start, of } = await aService();
    const { id } = await start("fail");
    const ended = await of.wait(id, 1000, ENDLESS);
    expect(ended).toMatchObject({ exit_code: 7, output_bytes: 5002 });
    expect(ended.stderr_preview.length).toBeLessThanOrEqual(4000);
    expect(ended.stderr_preview).toContain("characters left out");
    const long = await start(`echo secret-word ${"x".repeat(500)}`);
    expect(long.command.startsWith("echo [redacted] x")).toBe(true);
    expect(long.command.length).toBe(200);
    expect((await of.take(long.id, 1000, ENDLESS)).output.parts.map(String).join("")).not.toContain(
      "secret-word",
    );
  });

  it("holds the box while a job runs, and lets it go with the job", async () => {
    const { start, of, entry, boxes, session } = await aService();
    const { id } = await start("sleep 1000");
    expect(await entry()).toMatchObject({ jobs: 1, activity: { leases: 1, idle_sec: null } });
    expect(boxes.isInUse(session.id)).toBe(false);
    await of.stop(id, ENDLESS);
    expect(await entry()).toMatchObject({ jobs: 0, activity: { leases: 0, idle_sec: 0 } });
  });

  it("replaces a running job of the same id", async () => {
    const { start, of, world } = await aService();
    await start("sleep 1000", "default");
    world.clock.advance(1000);
    const next = await start("cat", "default");
    expect(of.list()).toEqual([next]);
    expect(next).toMatchObject({ id: "default", status: "running", command: "cat" });
  });

  it.each(["", "a b", "-x", "../x", "x".repeat(65)])("refuses the id %o", async (id) => {
    const { start } = await aService();
    await expect(start("cat", id)).rejects.toMatchObject({ code: "box.validation", param: "id" });
  });

  it("polls output from an offset, waits for it, and takes it piece by piece", async () => {
    const { jobs, session, start, of } = await aService();
    const { id } = await start("cat");
    const waiting = of.take(id, 1000, ENDLESS);
    await of.input(id, Buffer.from("one"), ENDLESS);
    expect((await waiting).output).toMatchObject({ next: 3, droppedBytes: 0 });
    await of.input(id, Buffer.from("two"), ENDLESS);
    expect((await of.take(id, 1000, ENDLESS)).output).toMatchObject({ next: 6 });
    const polled = await jobs.poll(session.id, id, { ...ENDLESS, after: 1, maxBytes: 4, waitMs: 0 });
    expect(Buffer.from(polled.output.parts[0]?.bytes ?? []).toString()).toBe("netw");
    const quiet = of.take(id, 500, ENDLESS);
    await vi.advanceTimersByTimeAsync(500);
    expect((await quiet).output.parts).toEqual([]);
  });

  it("has one follower at a time", async () => {
    const { jobs, session, start } = await aService();
    const { id } = await start("cat", "a");
    {
      using _follower = jobs.follow(session.id, id, 0);
      expect(() => jobs.follow(session.id, id, 0)).toThrow(
        expect.objectContaining({ code: "box.process_conflict" }),
      );
    }
    using again = jobs.follow(session.id, id, 0);
    await jobs.stop(session.id, id);
    expect(await again.read(10, ENDLESS)).toBeNull();
  });

  it("says that a process does not read its input", async () => {
    const { start, of } = await aService();
    const { id } = await start("sleep 1000");
    await of.input(id, Buffer.alloc(128 * 1024), ENDLESS);
    const stuck = of.input(id, Buffer.alloc(128 * 1024), ENDLESS);
    stuck.catch(() => undefined);
    await vi.advanceTimersByTimeAsync(10_000);
    await expect(stuck).rejects.toMatchObject({ code: "box.process_conflict" });
  });

  it("knows no job of another session, and none that nobody started", async () => {
    const { start, jobs, aSession } = await aService();
    const { id } = await start("cat");
    const other = jobs.of(await aSession("b"));
    for (const act of [
      () => other.take(id, 0, ENDLESS),
      () => other.wait(id, 0, ENDLESS),
      () => other.input(id, null, ENDLESS),
      () => other.stop(id, ENDLESS),
    ])
      await expect(act()).rejects.toMatchObject({ code: "box.process_not_found" });
    expect(other.list()).toEqual([]);
  });

  it("refuses more jobs than there may be, those that are being started included", async () => {
    const { start, of, world } = await aService({ maxRunning: 2 });
    const outcomes = await Promise.allSettled([start("cat", "a"), start("cat", "b"), start("cat", "c")]);
    expect(outcomes.filter(({ status }) => status === "rejected").length).toBeGreaterThan(0);
    for (const { id } of of.list()) await of.stop(id, ENDLESS);
    await start("cat", "a");
    await start("cat", "b");
    await expect(start("cat", "c")).rejects.toMatchObject({
      code: "box.capacity",
      details: { limit: 2, used: 2 },
    });
    await start("cat", "b");
    expect(world.logger.lines.map(({ message }) => message)).toContain("A job has ended.");
  });

  it("leaves nothing of a start that fails", async () => {
    const { session, jobs, entry } = await aService();
    const nowhere = { command: "cat", workdir: "/etc", env: {} };
    await expect(jobs.start(session, nowhere, ENDLESS)).rejects.toMatchObject({ code: "box.validation" });
    expect(jobs.list(session.id)).toEqual([]);
    expect(await entry()).toMatchObject({ jobs: 0, activity: { leases: 0 } });
  });

  it("forgets ended jobs that are too old, and the oldest ones that are too many", async () => {
    const { start, of, world, session, jobs } = await aService({ maxEnded: 2 });
    for (const id of ["a", "b", "c"]) {
      await start("true", id);
      await of.wait(id, 1000, ENDLESS);
      await vi.advanceTimersByTimeAsync(0);
      world.clock.advance(1000);
    }
    expect(of.list().map(({ id }) => id)).toEqual(["c", "b"]);
    world.clock.advance(298_500);
    expect(of.list().map(({ id }) => id)).toEqual(["c"]);
    world.clock.advance(1000);
    expect(of.list()).toEqual([]);
    expect(() => jobs.info(session.id, "c")).toThrow(
      expect.objectContaining({ code: "box.process_not_found" }),
    );
  });

  it("ends the jobs of a session that is stopped and keeps their records, of one that is removed keeps nothing", async () => {
    const { start, jobs, of, session, aSession } = await aService();
    const { id } = await start("sleep 1000");
    const other = await aSession("b");
    await jobs.start(other, { id: "kept", command: "cat", workdir: WORKDIR, env: {} }, ENDLESS);
    await jobs.stopAll(session.id);
    expect(of.list()).toMatchObject([{ id, status: "exited", exit_code: null }]);
    await start("sleep 1000");
    await jobs.removeAll(session.id);
    await jobs.removeAll(session.id);
    await jobs.stopAll("ses_unknown");
    expect(of.list()).toEqual([]);
    expect(jobs.list(other.id)).toMatchObject([{ status: "running" }]);
  });

  it("leaves no process of a start that meets the end of its session", async () => {
    const { start, jobs, session, entry } = await aService();
    const starting = start("sleep 1000");
    starting.catch(() => undefined);
    await jobs.removeAll(session.id);
    await expect(starting).rejects.toMatchObject({ code: "box.process_not_found" });
    expect(jobs.list(session.id)).toEqual([]);
    expect(await entry()).toMatchObject({ jobs: 0, activity: { leases: 0 } });
  });

  it("says that the box ended under a job", async () => {
    const { start, of, world, session } = await aService();
    const { id } = await start("sleep 1000");
    const container = (await world.sessions.get("main", session.id))?.container ?? "";
    world.backend.killContainer(container);
    expect(await of.wait(id, 1000, ENDLESS)).toMatchObject({
      status: "exited",
      exit_code: null,
      notes: [expect.stringContaining("The box stopped")],
    });
  });

  it("ends all jobs with the service, and takes no new ones", async () => {
    const { start, jobs, of } = await aService();
    await start("sleep 1000");
    const starting = start("sleep 1000");
    starting.catch(() => undefined);
    await jobs[Symbol.asyncDispose]();
    expect(of.list().filter(({ status }) => status === "running")).toEqual([]);
    await expect(starting).rejects.toMatchObject({ code: "box.process_not_found" });
    await expect(start("cat")).rejects.toMatchObject({ code: "service.stopping" });
  });
});
