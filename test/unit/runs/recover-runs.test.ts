import { beforeEach, describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import { LocalRunEvents } from "../../../src/adapters/system/local-run-events.js";
import { findUnansweredCalls } from "../../../src/domain/history.js";
import type { Message } from "../../../src/domain/message.js";
import { RUN_STATES, type RunState } from "../../../src/domain/run.js";
import { Claims } from "../../../src/runs/claims.js";
import { recoverRuns } from "../../../src/runs/recover-runs.js";
import { SteeringEnds } from "../../../src/runs/steering-ends.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { aPipeline, pipelinesOf } from "../../support/builders.js";
import { aFile, aRun, aTranscriptItem } from "../../support/records.js";

const timestamp = "2026-01-01T00:00:00.000Z";
const call = { id: "c1", type: "function" as const, function: { name: "exec", arguments: "{}" } };

describe("recoverRuns", () => {
  const clock = new FakeClock();
  let stores = openMemoryStores({ clock });
  let events = new LocalRunEvents();

  beforeEach(() => {
    stores = openMemoryStores({ clock });
    events = new LocalRunEvents();
  });

  const recover = (isAlone = true) => {
    const claims = new Claims({ ...stores, clock, worker: "later" });
    const steeringEnds = new SteeringEnds({ hasChat: () => true });
    const pipelines = pipelinesOf(aPipeline({ exceptionHandling: "show-error" }));
    const deps = { ...stores, claims, steeringEnds, events, pipelines, now: () => clock.now() };
    return recoverRuns(deps, isAlone);
  };
  const says = async (message: Message): Promise<void> => {
    await stores.transcripts.append(aTranscriptItem({ message }));
  };
  const shows = async (content: string): Promise<void> => {
    const data = { chunk: { role: "assistant", content } };
    await stores.runs.appendEvent("run_1", { type: "message.delta", data, timestamp });
  };
  const completes = async (content: string): Promise<void> => {
    const data = { message: { role: "assistant", content } };
    await stores.runs.appendEvent("run_1", { type: "message.completed", data, timestamp });
  };
  const history = async (): Promise<unknown[]> => {
    const page = { direction: "forward" as const, from: null, limit: 100 };
    const items = await stores.transcripts.page("main", "conversation-1", page);
    return items.map(({ message, partial }) => [message.role, message.content, partial]);
  };

  it("ends every run that was executing, retryable, and says so in its last event", async () => {
    await stores.runs.create(aRun({ state: "running", startedAt: 1000 }));
    await stores.runs.appendEvent("run_1", { type: "run.started", data: {}, timestamp });
    const woken = events.waitBeyond("run_1", 1, { signal: new AbortController().signal });
    await recover();
    expect(await stores.runs.get("main", "run_1")).toMatchObject({
      state: "failed",
      endedAt: clock.now(),
      message: null,
      error: {
        code: "run.interrupted",
        retryable: true,
        notice: "The service stopped while this run was going on.",
      },
    });
    const [, last] = await stores.runs.eventsAfter("run_1", 0, 10);
    expect(last).toMatchObject({
      type: "run.failed",
      sequence: 2,
      data: { id: "run_1", status: "failed", error: { code: "run.interrupted" } },
    });
    await expect(woken).resolves.toBeUndefined();
  });

  it("leaves what other workers hold alone until their claims have expired", async () => {
    const claim = { worker: "one", now: clock.now(), expiresAt: clock.now() + 30_000 };
    await stores.runs.create(aRun());
    await stores.runs.create(aRun({ id: "run_2", conversation: "other" }));
    await stores.runs.create(aRun({ id: "run_3", state: "created" }));
    await stores.runs.claim("run_1", claim);
    await stores.runs.claim("run_2", { ...claim, expiresAt: clock.now() });
    await stores.runs.update("run_1", { state: "running" }, 1);
    await stores.runs.update("run_2", { state: "running" }, 1);
    expect(await recover(false)).toEqual([]);
    expect(await stores.runs.get("main", "run_1")).toMatchObject({ state: "running", epoch: 1 });
    expect(await stores.runs.get("main", "run_2")).toMatchObject({ state: "failed", epoch: 2 });
    expect(await stores.runs.get("main", "run_3")).toMatchObject({ state: "created" });
  });

  it("gives the queued ones back, oldest first, and leaves ended ones alone", async () => {
    for (const [index, state] of RUN_STATES.entries())
      await stores.runs.create(aRun({ id: `run_${index}`, state }));
    const queued = await recover();
    expect(queued.map(({ id, state }) => [id, state])).toEqual([
      ["run_0", "queued"],
      ["run_1", "queued"],
      ["run_2", "queued"],
    ]);
    const states: RunState[] = [];
    for (const index of RUN_STATES.keys())
      states.push((await stores.runs.get("main", `run_${index}`))?.state ?? "created");
    expect(states).toEqual([
      "queued",
      "queued",
      "queued",
      "failed",
      "completed",
      "failed",
      "cancelled",
      "timeout",
    ]);
  });

  it("answers calls without an answer, so that the next request is valid", async () => {
    await stores.runs.create(aRun({ state: "running" }));
    await says({ role: "user", content: "Run it." });
    await says({ role: "assistant", content: "Running.", tool_calls: [call] });
    await recover();
    expect(await history()).toEqual([
      ["user", "Run it.", false],
      ["assistant", "Running.", false],
      ["tool", "Error: interrupted: result unknown", false],
    ]);
    const page = { direction: "forward" as const, from: null, limit: 100 };
    const items = await stores.transcripts.page("main", "conversation-1", page);
    expect(findUnansweredCalls(items.map(({ message }) => message))).toEqual([]);
  });

  it("keeps what the user had seen as a partial message", async () => {
    await stores.runs.create(aRun({ state: "running" }));
    await shows("Ha");
    await shows("Half");
    await recover();
    expect(await history()).toEqual([["assistant", "Half", true]]);
    expect((await stores.runs.get("main", "run_1"))?.message).toEqual({ content: "Half", partial: true });
  });

  it("finds it behind any number of events, and takes no notice of malformed ones", async () => {
    await stores.runs.create(aRun({ state: "running" }));
    for (let i = 0; i < 1100; i += 1) await shows(`${i}`);
    await stores.runs.appendEvent("run_1", { type: "message.delta", data: { chunk: 7 }, timestamp });
    await stores.runs.appendEvent("run_1", { type: "message.completed", data: {}, timestamp });
    await recover();
    expect((await stores.runs.get("main", "run_1"))?.message?.content).toBe("1099");
  });

  it("writes the final message once where the process stopped between it and the end of the run", async () => {
    await stores.runs.create(aRun({ state: "running" }));
    await says({ role: "user", content: "Hello" });
    await says({ role: "assistant", content: "Hi" });
    await completes("Hi");
    await recover();
    expect(await history()).toEqual([
      ["user", "Hello", false],
      ["assistant", "Hi", false],
    ]);
    expect((await stores.runs.get("main", "run_1"))?.message?.content).toBe("Hi");
  });

  it("still lists what the run had exported", async () => {
    await stores.runs.create(aRun({ state: "running" }));
    await stores.files.register([aFile()]);
    await recover();
    const [last] = await stores.runs.eventsAfter("run_1", 0, 10);
    expect(last?.data).toMatchObject({ deliveries: [{ id: "file_1", state: "pending" }] });
  });
});
