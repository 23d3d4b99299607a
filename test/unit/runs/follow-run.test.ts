import { beforeEach, describe, expect, it } from "vitest";
import { MemoryRunStore } from "../../../src/adapters/memory/memory-run-store.js";
import { LocalRunEvents } from "../../../src/adapters/system/local-run-events.js";
import type { RunEventType } from "../../../src/domain/run.js";
import type { NewRunEvent } from "../../../src/ports/run-store.js";
import { followRun } from "../../../src/runs/follow-run.js";
import { anOutcome, aRun } from "../../support/records.js";
import { NEVER } from "../../support/run-world.js";

const timestamp = "2026-01-01T00:00:00.000Z";

function anEnd(): NewRunEvent {
  return { type: "run.completed", data: {}, timestamp };
}

function upTo(last: number, first = 1): number[] {
  return Array.from({ length: last - first + 1 }, (_item, index) => first + index);
}

describe("followRun", () => {
  let runs = new MemoryRunStore();
  let events = new LocalRunEvents();

  beforeEach(async () => {
    runs = new MemoryRunStore();
    events = new LocalRunEvents();
    await runs.create(aRun());
  });

  const emit = async (count = 1, type: RunEventType = "message.delta"): Promise<void> => {
    for (let i = 0; i < count; i += 1) {
      const event = await runs.appendEvent("run_1", { type, data: {}, timestamp });
      events.notify("run_1", event?.sequence ?? 0);
    }
  };
  const finish = async (): Promise<void> => {
    const event = await runs.finish("run_1", anOutcome(), anEnd);
    events.notify("run_1", event?.sequence ?? 0);
  };
  const follow = (after = 0, signal: AbortSignal = NEVER) =>
    followRun({ runs, events }, { tenant: "main", id: "run_1", after }, { signal });
  const read = async (after = 0): Promise<number[]> => {
    const numbers: number[] = [];
    for await (const { sequence } of follow(after)) numbers.push(sequence);
    return numbers;
  };
  it("replays a run that has ended, over any number of pages", async () => {
    await emit(250);
    await finish();
    expect(await read()).toEqual(upTo(251));
  });

  it("begins after the last event that the reader saw", async () => {
    await emit(5);
    await finish();
    expect(await read(3)).toEqual([4, 5, 6]);
  });

  it("ends at once for a reader who has seen the end", async () => {
    await emit(2);
    await finish();
    expect(await read(3)).toEqual([]);
    expect(await read(99)).toEqual([]);
  });

  it("follows a run that is going on until its terminal event", async () => {
    await emit(2);
    const reading = read();
    await emit(150);
    await new Promise((resolve) => setImmediate(resolve));
    await emit(3);
    await finish();
    expect(await reading).toEqual(upTo(156));
  });

  it("gives each of many readers every event once, wherever it began", async () => {
    const readings = [0, 1, 5, 20].map((after) => read(after));
    for (let i = 0; i < 30; i += 1) {
      await emit();
      if (i % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await finish();
    expect(await Promise.all(readings)).toEqual([0, 1, 5, 20].map((after) => upTo(31, after + 1)));
  });

  it("does not miss the end that comes while it looks whether the run has ended", async () => {
    await emit();
    const reader = follow();
    await reader.next();
    const next = reader.next();
    await finish();
    expect((await next).value).toMatchObject({ type: "run.completed", sequence: 2 });
    expect((await reader.next()).done).toBe(true);
  });

  it("stops reading when the signal aborts, also while it waits", async () => {
    const controller = new AbortController();
    await emit();
    const reader = follow(0, controller.signal);
    await reader.next();
    const next = reader.next();
    setImmediate(() => controller.abort(new Error("gone")));
    await expect(next).rejects.toThrow("gone");
    await expect(follow(0, controller.signal).next()).rejects.toThrow("gone");
  });

  it("ends for a run that is removed while it is followed", async () => {
    const deps = { runs: new MemoryRunStore(), events };
    const reader = followRun(deps, { tenant: "main", id: "run_1", after: 0 }, { signal: NEVER });
    expect((await reader.next()).done).toBe(true);
  });
});
