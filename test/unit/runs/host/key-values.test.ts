import { describe, expect, it } from "vitest";
import { MemoryStateStore } from "../../../../src/adapters/memory/memory-state-store.js";
import { ServiceError } from "../../../../src/domain/errors.js";
import { KeyValues } from "../../../../src/runs/host/key-values.js";
import { RunGate } from "../../../../src/runs/host/run-gate.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { proves } from "../../../support/proves.js";

const KIB = 1024;

/** Every scope is a place of its own; "closed" may not be used. */
function someValues(store = new MemoryStateStore(), run = new AbortController()): KeyValues {
  return new KeyValues({
    gate: new RunGate({ runId: "run_1", signal: run.signal, logger: new KeptLogger() }),
    store,
    clock: new FakeClock(),
    placeOf: (scope) => {
      if (scope === "closed") throw new ServiceError("host.unauthorized", "It is closed.");
      return { tenant: "main", scopeKey: scope };
    },
  });
}

describe("KeyValues", () => {
  it("stores nothing above 256 KiB of JSON, and names limit and size", async () => {
    proves("STATE-01");
    const state = someValues();
    const ref = { scope: "actor", key: "text" };
    // Two quotes belong to the JSON of a text.
    await state.set({ ...ref, value: "x".repeat(256 * KIB - 2) });
    await expect(state.set({ ...ref, value: "y".repeat(256 * KIB - 1) })).rejects.toMatchObject({
      code: "host.payload_too_large",
      message: "The value has 262145 bytes of JSON; the limit is 262144 bytes for each key.",
    });
    expect(await state.get(ref)).toBe("x".repeat(256 * KIB - 2));
    await expect(state.set({ ...ref, key: "wide", value: "é".repeat(128 * KIB) })).rejects.toMatchObject({
      code: "host.payload_too_large",
    });
    expect((await state.list({ scope: "actor" })).keys).toEqual(["text"]);
  });

  it.each([undefined, () => 1, 1n])("refuses %o, which is no JSON", async (value) => {
    const state = someValues();
    await expect(state.set({ scope: "actor", key: "a", value })).rejects.toMatchObject({
      code: "host.invalid_argument",
      message: "The value is not JSON.",
    });
    expect((await state.list({ scope: "actor" })).keys).toEqual([]);
  });

  it("refuses a value that holds itself, and one that is nested too deeply", async () => {
    const state = someValues();
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    const nest = (depth: number): unknown => (depth === 0 ? 1 : [nest(depth - 1)]);
    for (const value of [loop, nest(65)])
      await expect(state.set({ scope: "actor", key: "a", value })).rejects.toMatchObject({
        code: "host.invalid_argument",
      });
    await expect(state.set({ scope: "actor", key: "a", value: nest(64) })).resolves.toBeUndefined();
  });

  it.each(["", "k".repeat(257), "nul\0", "half \uD83D"])("refuses the key %j", async (key) => {
    const state = someValues();
    const refusal = { code: "host.invalid_argument" };
    await expect(state.set({ scope: "actor", key, value: 1 })).rejects.toMatchObject(refusal);
    await expect(state.get({ scope: "actor", key })).rejects.toMatchObject(refusal);
    await expect(state.delete({ scope: "actor", key })).rejects.toMatchObject(refusal);
  });

  it("takes a key of 256 characters, and refuses a longer beginning of keys", async () => {
    const state = someValues();
    await state.set({ scope: "actor", key: "k".repeat(256), value: 1 });
    expect((await state.list({ scope: "actor", prefix: "k".repeat(256) })).keys).toHaveLength(1);
    await expect(state.list({ scope: "actor", prefix: "k".repeat(257) })).rejects.toMatchObject({
      code: "host.invalid_argument",
    });
  });

  it("lists 100 keys and says that there are more", async () => {
    const state = someValues();
    for (let i = 0; i < 100; i += 1) await state.set({ scope: "actor", key: `k${i}`, value: i });
    expect(await state.list({ scope: "actor" })).toMatchObject({ has_more: false });
    await state.set({ scope: "actor", key: "z", value: 1 });
    const page = await state.list({ scope: "actor" });
    expect(page.keys).toHaveLength(100);
    expect(page.has_more).toBe(true);
  });

  it("keeps one entry under the two names of the outside conversation", async () => {
    const state = someValues();
    await state.set({ scope: "conversation", key: "conversation_id", value: "c1" });
    expect(await state.get({ scope: "conversation", key: "external.conversation_id" })).toBe("c1");
    await state.set({ scope: "conversation", key: "external.conversation_id", value: "c2" });
    expect(await state.get({ scope: "conversation", key: "conversation_id" })).toBe("c2");
    expect((await state.list({ scope: "conversation" })).keys).toEqual(["external.conversation_id"]);
    expect(await state.delete({ scope: "conversation", key: "conversation_id" })).toBe(true);
    expect((await state.list({ scope: "conversation" })).keys).toEqual([]);
  });

  it("lets the last write stand, and simultaneous first writes all succeed", async () => {
    const state = someValues();
    const ref = { scope: "runner", key: "count" };
    await Promise.all([1, 2, 3, 4].map((value) => state.set({ ...ref, value })));
    expect([1, 2, 3, 4]).toContain(await state.get(ref));
    await state.set({ ...ref, value: 5 });
    expect(await state.get(ref)).toBe(5);
  });

  it("touches nothing in a scope that may not be used, nor once the run was stopped", async () => {
    const run = new AbortController();
    const store = new MemoryStateStore();
    const state = someValues(store, run);
    const closed = { code: "host.unauthorized" };
    await expect(state.set({ scope: "closed", key: "a", value: 1 })).rejects.toMatchObject(closed);
    await expect(state.get({ scope: "closed", key: "a" })).rejects.toMatchObject(closed);
    await expect(state.list({ scope: "closed" })).rejects.toMatchObject(closed);
    await expect(state.delete({ scope: "closed", key: "a" })).rejects.toMatchObject(closed);
    await state.set({ scope: "actor", key: "a", value: 1 });
    run.abort(new ServiceError("cancelled", "The run was cancelled."));
    await expect(state.set({ scope: "actor", key: "a", value: 2 })).rejects.toMatchObject({
      code: "cancelled",
    });
    expect(await store.get({ tenant: "main", scopeKey: "actor" }, "a")).toBe("1");
  });
});
