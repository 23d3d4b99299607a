/** What every store of idempotency keys promises (api §1.5, ports/idempotency-store.ts). */
import { describe, expect, it } from "vitest";
import type { IdempotencyStore } from "../../src/ports/idempotency-store.js";
import type { Opened } from "../support/opened.js";
import { anIdempotencyRecord } from "../support/records.js";

export function describeIdempotencyStore(name: string, make: () => Promise<Opened<IdempotencyStore>>): void {
  describe(`IdempotencyStore of ${name}`, () => {
    it("takes a key that is not there", async () => {
      await using store = await make();
      expect(await store.it.claim(anIdempotencyRecord(), 0)).toEqual(anIdempotencyRecord());
    });

    it("gives the record that stands to everybody who comes later", async () => {
      await using store = await make();
      await store.it.claim(anIdempotencyRecord(), 0);
      const later = anIdempotencyRecord({ runId: "run_2", bodyHash: "d".repeat(64), createdAt: 11_000 });
      expect(await store.it.claim(later, 10_000)).toEqual(anIdempotencyRecord());
    });

    it("lets simultaneous calls agree on one record", async () => {
      await using store = await make();
      const runs = ["run_1", "run_2", "run_3", "run_4", "run_5"] as const;
      const standing = await Promise.all(
        runs.map((runId) => store.it.claim(anIdempotencyRecord({ runId }), 0)),
      );
      expect(new Set(standing.map(({ runId }) => runId)).size).toBe(1);
    });

    it("takes a key again when its record is too old", async () => {
      await using store = await make();
      await store.it.claim(anIdempotencyRecord(), 0);
      const later = anIdempotencyRecord({ runId: "run_2", createdAt: 20_000 });
      expect(await store.it.claim(later, 10_001)).toEqual(later);
    });

    it("keeps equal keys of two tenants apart", async () => {
      await using store = await make();
      await store.it.claim(anIdempotencyRecord(), 0);
      const theirs = anIdempotencyRecord({ tenant: "other", runId: "run_2" });
      expect(await store.it.claim(theirs, 0)).toEqual(theirs);
    });

    it("points a key to a new attempt only if it still points to the old one", async () => {
      await using store = await make();
      await store.it.claim(anIdempotencyRecord(), 0);
      const second = anIdempotencyRecord({ runId: "run_2", createdAt: 12_000 });
      const third = anIdempotencyRecord({ runId: "run_3", createdAt: 13_000 });
      expect(await store.it.replace(second, "run_1")).toEqual(second);
      expect(await store.it.replace(third, "run_1")).toEqual(second);
      expect(await store.it.claim(third, 0)).toEqual(second);
    });

    it("lets simultaneous attempts agree on one", async () => {
      await using store = await make();
      await store.it.claim(anIdempotencyRecord(), 0);
      const runs = ["run_2", "run_3", "run_4"] as const;
      const standing = await Promise.all(
        runs.map((runId) => store.it.replace(anIdempotencyRecord({ runId }), "run_1")),
      );
      expect(new Set(standing.map(({ runId }) => runId)).size).toBe(1);
    });

    it("removes expired keys, no more than asked for", async () => {
      await using store = await make();
      for (const key of ["a", "b", "c"])
        await store.it.claim(anIdempotencyRecord({ key, createdAt: 1_000 }), 0);
      await store.it.claim(anIdempotencyRecord({ key: "new", createdAt: 2_000 }), 0);
      expect(await store.it.removeExpired(2_000, 2)).toBe(2);
      expect(await store.it.removeExpired(2_000, 2)).toBe(1);
      const other = anIdempotencyRecord({ key: "new", runId: "run_2" });
      expect(await store.it.claim(other, 0)).toMatchObject({ runId: "run_1" });
    });

    it("takes an attempt whose key has meanwhile gone", async () => {
      await using store = await make();
      expect(await store.it.replace(anIdempotencyRecord(), "run_0")).toEqual(anIdempotencyRecord());
    });
  });
}
