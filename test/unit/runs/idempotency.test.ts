import { beforeEach, describe, expect, it } from "vitest";
import { MemoryIdempotencyStore } from "../../../src/adapters/memory/memory-idempotency-store.js";
import type { RunId } from "../../../src/domain/ids.js";
import type { RunRecord } from "../../../src/ports/run-store.js";
import { judgeKey } from "../../../src/runs/idempotency.js";
import { anIdempotencyRecord, aRun } from "../../support/records.js";

const DAY_MS = 86_400_000;

describe("judgeKey", () => {
  let keys = new MemoryIdempotencyStore();
  let runs = new Map<RunId, RunRecord>();
  let steered = new Set<RunId>();

  beforeEach(() => {
    keys = new MemoryIdempotencyStore();
    runs = new Map();
    steered = new Set();
  });

  const judge = (fields: Parameters<typeof anIdempotencyRecord>[0] = {}) =>
    judgeKey(
      { keys, findRun: async (id) => runs.get(id) ?? null, isSteered: async (id) => steered.has(id) },
      anIdempotencyRecord(fields),
    );

  /** Claims the key for run_1, which then stands in that state. */
  const claimed = async (state: RunRecord["state"]): Promise<void> => {
    await judge();
    runs.set("run_1", aRun({ state }));
  };

  it("gives the same answer again for a message that a run absorbs, and for no other body", async () => {
    await judge();
    steered.add("run_1");
    expect(await judge({ runId: "run_2" })).toEqual({ kind: "same", runId: "run_1" });
    await expect(judge({ runId: "run_2", bodyHash: "c".repeat(64) })).rejects.toMatchObject({
      code: "idempotency.mismatch",
    });
  });

  it("makes a run for a key that is not known", async () => {
    expect(await judge()).toEqual({ kind: "first" });
  });

  it.each(["created", "queued", "claimed", "running", "completed", "cancelled"] as const)(
    "attaches to a run that is %s",
    async (state) => {
      await claimed(state);
      expect(await judge({ runId: "run_2" })).toEqual({ kind: "same", runId: "run_1" });
    },
  );

  it.each(["failed", "timeout"] as const)("makes a new attempt after a run that is %s", async (state) => {
    await claimed(state);
    expect(await judge({ runId: "run_2" })).toEqual({ kind: "again", after: aRun({ state }) });
    runs.set("run_2", aRun({ id: "run_2", state: "running" }));
    expect(await judge({ runId: "run_3" })).toEqual({ kind: "same", runId: "run_2" });
  });

  it("makes the run of a key whose first request was refused", async () => {
    await judge();
    expect(await judge({ runId: "run_2" })).toEqual({ kind: "first" });
    runs.set("run_2", aRun({ id: "run_2" }));
    expect(await judge({ runId: "run_3" })).toEqual({ kind: "same", runId: "run_2" });
  });

  it("lets a corrected request have the key of one that was refused", async () => {
    await judge();
    const corrected = { runId: "run_2", bodyHash: "c".repeat(64) } as const;
    expect(await judge(corrected)).toEqual({ kind: "first" });
    runs.set("run_2", aRun({ id: "run_2" }));
    expect(await judge({ ...corrected, runId: "run_3" })).toEqual({ kind: "same", runId: "run_2" });
    await expect(judge({ runId: "run_4" })).rejects.toMatchObject({ code: "idempotency.mismatch" });
  });

  it("refuses another body, whatever became of the run", async () => {
    await claimed("failed");
    await expect(judge({ runId: "run_2", bodyHash: "c".repeat(64) })).rejects.toMatchObject({
      code: "idempotency.mismatch",
      param: "Idempotency-Key",
    });
  });

  it("keeps the keys of tenants apart", async () => {
    await claimed("running");
    expect(await judge({ runId: "run_2", tenant: "other" })).toEqual({ kind: "first" });
  });

  it("keeps a key for 24 hours", async () => {
    await claimed("completed");
    const createdAt = anIdempotencyRecord().createdAt;
    expect(await judge({ runId: "run_2", createdAt: createdAt + DAY_MS })).toMatchObject({ kind: "same" });
    expect(await judge({ runId: "run_2", createdAt: createdAt + DAY_MS + 1 })).toEqual({ kind: "first" });
  });

  it("lets one of two simultaneous attempts be the new one", async () => {
    await claimed("failed");
    const verdicts = await Promise.all([judge({ runId: "run_2" }), judge({ runId: "run_3" })]);
    expect(verdicts.map(({ kind }) => kind).toSorted()).toEqual(["again", "same"]);
  });
});
