import { describe, expect, it } from "vitest";
import { MemoryStateStore } from "../../../../src/adapters/memory/memory-state-store.js";
import { readSnapshot } from "../../../../src/runs/host/state-snapshot.js";

const KIB = 1024;
const ACTOR = { scope: "actor" as const, place: { tenant: "main", scopeKey: "actor:1" } };
const RUNNER = { scope: "runner" as const, place: { tenant: "main", scopeKey: "runner:1" } };

async function keysOf(store: MemoryStateStore): Promise<Record<string, string[]>> {
  const { state } = await readSnapshot(store, [ACTOR, RUNNER]);
  return Object.fromEntries(Object.entries(state).map(([scope, values]) => [scope, Object.keys(values)]));
}

describe("readSnapshot", () => {
  it("shows values as they were stored", async () => {
    const store = new MemoryStateStore();
    await store.set(ACTOR.place, { key: "a", json: '{"b":[1,null]}' });
    await store.set(ACTOR.place, { key: "__proto__", json: '{"polluted":true}' });
    const { state, isCut } = await readSnapshot(store, [ACTOR, RUNNER]);
    expect(state["actor"]?.["a"]).toEqual({ b: [1, null] });
    expect(Object.keys(state["actor"] ?? {})).toEqual(["__proto__", "a"]);
    expect(Object.getPrototypeOf(state["actor"])).toBe(Object.prototype);
    expect(isCut).toBe(false);
  });

  it("shows at most 100 keys of a scope", async () => {
    const store = new MemoryStateStore();
    for (let i = 0; i < 101; i += 1)
      await store.set(ACTOR.place, { key: `k${String(i).padStart(3, "0")}`, json: "1" });
    const { state, isCut } = await readSnapshot(store, [ACTOR, RUNNER]);
    expect(Object.keys(state["actor"] ?? {})).toHaveLength(100);
    expect(isCut).toBe(true);
  });

  it("leaves out values beyond 1 MiB in all, and shows smaller ones that still fit", async () => {
    const store = new MemoryStateStore();
    const large = JSON.stringify("x".repeat(256 * KIB - 2));
    for (const key of ["a", "b", "c"]) await store.set(ACTOR.place, { key, json: large });
    await store.set(ACTOR.place, { key: "d", json: "1" });
    await store.set(RUNNER.place, { key: "e", json: large });
    await store.set(RUNNER.place, { key: "f", json: "2" });
    expect(await keysOf(store)).toEqual({ actor: ["a", "b", "c", "d"], runner: ["f"] });
    expect((await readSnapshot(store, [ACTOR, RUNNER])).isCut).toBe(true);
  });
});
