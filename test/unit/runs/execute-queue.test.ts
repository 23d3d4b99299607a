import { describe, expect, it } from "vitest";
import { type MemoryStores, openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import type { RunId } from "../../../src/domain/ids.js";
import { CountingIds } from "../../fakes/counting-ids.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { HeldRuns } from "../../fakes/held-runner.js";
import { aRequest, CALLER } from "../../support/builders.js";
import { aRun } from "../../support/records.js";
import { aRunWorld, NEVER, type RunWorld } from "../../support/run-world.js";

const CALL = { signal: NEVER };
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Worker {
  readonly world: RunWorld;
  readonly held: HeldRuns;
}

/** Two processes that share a ledger by mistake, or for a moment. */
function twoWorkers(): { stores: MemoryStores; clock: FakeClock; one: Worker; two: Worker } {
  const clock = new FakeClock();
  const stores = openMemoryStores({ clock });
  const ids = new CountingIds();
  const worker = (name: string): Worker => {
    const held = new HeldRuns();
    const world = aRunWorld({ stores, clock, ids, worker: name, isExclusive: false, runner: held.runner });
    return { world, held };
  };
  return { stores, clock, one: worker("one"), two: worker("two") };
}

async function send({ world }: Worker, text: string): Promise<RunId> {
  const { run } = await world.serve.admit(aRequest({ text }), CALLER, CALL);
  await tick();
  return run.id;
}

describe("two processes at one ledger", () => {
  it("leave no run without a worker for 60 s, and answer what waited behind it", async () => {
    const { clock, one, two } = twoWorkers();
    const [first, second] = [await send(one, "One"), await send(one, "Two")];
    await two.world.serve.start();
    expect((await two.world.record(first)).state).toBe("running");
    clock.advance(29_000);
    await two.world.serve.lookAfter();
    await tick();
    expect((await two.world.record(first)).state).toBe("running");
    expect(two.held.begun).toEqual([]);
    clock.advance(10_000);
    await two.world.serve.lookAfter();
    await tick();
    expect(await two.world.record(first)).toMatchObject({
      state: "failed",
      error: { code: "run.interrupted", retryable: true },
    });
    expect(two.held.begun).toEqual(["Two"]);
    two.held.release("Two");
    expect((await two.world.serve.wait(CALLER, second, CALL)).status).toBe("completed");
    await one.world[Symbol.asyncDispose]();
    await two.world[Symbol.asyncDispose]();
  });

  it("leave a run alone whose worker holds its claim", async () => {
    const { clock, one, two } = twoWorkers();
    const first = await send(one, "One");
    for (let i = 0; i < 10; i += 1) {
      clock.advance(10_000);
      await one.world.serve.lookAfter();
      await two.world.serve.lookAfter();
    }
    expect(await two.world.record(first)).toMatchObject({ state: "running", epoch: 1 });
    one.held.release("One");
    expect((await one.world.serve.wait(CALLER, first, CALL)).status).toBe("completed");
    await one.world[Symbol.asyncDispose]();
    await two.world[Symbol.asyncDispose]();
  });

  it("take nothing from a worker whose run was taken over: it stops, and writes nothing more", async () => {
    const { clock, one, two } = twoWorkers();
    const first = await send(one, "One");
    clock.advance(31_000);
    await two.world.serve.lookAfter();
    const ended = await two.world.record(first);
    const events = await two.world.eventsOf(first);
    const history = await two.world.transcriptOf(ended.conversation);
    one.held.release("One");
    await tick();
    await one.world.serve.lookAfter();
    expect(await two.world.record(first)).toEqual(ended);
    expect(await two.world.eventsOf(first)).toEqual(events);
    expect(await two.world.transcriptOf(ended.conversation)).toEqual(history);
    expect(one.world.active.size).toBe(0);
    await one.world[Symbol.asyncDispose]();
    await two.world[Symbol.asyncDispose]();
  });

  it("run one message of a conversation at a time, whoever takes it", async () => {
    const { clock, one, two } = twoWorkers();
    await send(one, "One");
    const second = await send(two, "Two");
    expect([one.held.begun, two.held.begun]).toEqual([["One"], []]);
    expect((await two.world.record(second)).state).toBe("queued");
    one.held.release("One");
    await tick();
    clock.advance(21_000);
    await two.world.serve.lookAfter();
    await tick();
    expect(two.held.begun).toEqual(["Two"]);
    two.held.release("Two");
    expect((await two.world.serve.wait(CALLER, second, CALL)).status).toBe("completed");
    await one.world[Symbol.asyncDispose]();
    await two.world[Symbol.asyncDispose]();
  });
});

describe("a worker", () => {
  it("ends its runs, retryable, when it was stopped for longer than its claims last", async () => {
    const { clock, one } = twoWorkers();
    const first = await send(one, "One");
    clock.advance(31_000);
    await one.world.serve.lookAfter();
    await tick();
    const run = await one.world.record(first);
    expect(run).toMatchObject({ state: "failed", error: { code: "run.interrupted", retryable: true } });
    await one.world[Symbol.asyncDispose]();
  });

  it("queues a run again that another claimed and never began", async () => {
    const { clock, stores, two } = twoWorkers();
    await stores.runs.create(aRun({ input: { text: "One", contents: [], attachments: [] } }));
    const now = clock.now();
    await stores.runs.claim("run_1", { worker: "dead", now, expiresAt: now + 1_000 });
    clock.advance(1_000);
    await two.world.serve.lookAfter();
    await tick();
    expect(two.held.begun).toEqual(["One"]);
    expect(await two.world.record("run_1")).toMatchObject({ state: "running", epoch: 3 });
    two.held.release("One");
    await two.world[Symbol.asyncDispose]();
  });

  it("leaves a run queued that it cannot claim, says so, and claims it later", async () => {
    const { clock, stores, one } = twoWorkers();
    const claim = stores.runs.claim.bind(stores.runs);
    let failures = 1;
    stores.runs.claim = async (...of) => {
      failures -= 1;
      if (failures >= 0) throw new Error("disk full");
      return claim(...of);
    };
    const first = await send(one, "One");
    expect((await one.world.record(first)).state).toBe("queued");
    expect(one.world.logger.lines.at(-1)).toMatchObject({
      level: "error",
      message: "A run could not be claimed.",
    });
    clock.advance(21_000);
    await one.world.serve.lookAfter();
    await tick();
    expect(one.held.begun).toEqual(["One"]);
    one.held.release("One");
    await one.world[Symbol.asyncDispose]();
  });

  it("does not begin a run that is cancelled between its turn and its begin", async () => {
    const { one } = twoWorkers();
    const { run } = await one.world.serve.admit(aRequest({ text: "One" }), CALLER, CALL);
    expect(await one.world.serve.cancel(CALLER, run.id, CALL)).toMatchObject({ status: "cancelled" });
    expect(one.held.begun).toEqual([]);
    await one.world[Symbol.asyncDispose]();
  });
});
