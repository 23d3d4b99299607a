/** What every store of key-values promises (runs §16, ports/state-store.ts). */
import { describe, expect, it } from "vitest";
import type { StateStore } from "../../src/ports/state-store.js";
import type { Opened } from "../support/opened.js";

const PLACE = { tenant: "main", scopeKey: "actor:1" };
const ALL = { prefix: "", limit: 100 };

export function describeStateStore(name: string, make: () => Promise<Opened<StateStore>>): void {
  describe(`StateStore of ${name}`, () => {
    it("sets, gets, lists and deletes", async () => {
      await using store = await make();
      expect(await store.it.get(PLACE, "mood")).toBeNull();
      await store.it.set(PLACE, { key: "mood", json: '{"now":"good"}' }, 1_000);
      expect(await store.it.get(PLACE, "mood")).toBe('{"now":"good"}');
      expect(await store.it.list(PLACE, ALL)).toEqual([{ key: "mood", sizeBytes: 14 }]);
      expect(await store.it.delete(PLACE, "mood")).toBe(true);
      expect(await store.it.get(PLACE, "mood")).toBeNull();
      expect(await store.it.list(PLACE, ALL)).toEqual([]);
      expect(await store.it.delete(PLACE, "mood")).toBe(false);
    });

    it("lets the last write stand", async () => {
      await using store = await make();
      await store.it.set(PLACE, { key: "mood", json: '"good"' }, 1_000);
      await store.it.set(PLACE, { key: "mood", json: '"é"' }, 2_000);
      expect(await store.it.get(PLACE, "mood")).toBe('"é"');
      expect(await store.it.list(PLACE, ALL)).toEqual([{ key: "mood", sizeBytes: 4 }]);
    });

    it("takes first writes that come at the same time, all of them", async () => {
      await using store = await make();
      const values = ["1", "2", "3", "4", "5"];
      await Promise.all(values.map((json) => store.it.set(PLACE, { key: "mood", json }, 1_000)));
      expect(values).toContain(await store.it.get(PLACE, "mood"));
      expect(await store.it.list(PLACE, ALL)).toHaveLength(1);
    });

    it.each([
      { tenant: "other", scopeKey: "actor:1" },
      { tenant: "main", scopeKey: "actor:2" },
    ])("keeps %j apart from another place with the same key", async (other) => {
      await using store = await make();
      await store.it.set(PLACE, { key: "mood", json: '"good"' }, 1_000);
      expect(await store.it.get(other, "mood")).toBeNull();
      expect(await store.it.list(other, ALL)).toEqual([]);
      expect(await store.it.delete(other, "mood")).toBe(false);
      await store.it.set(other, { key: "mood", json: '"bad"' }, 1_000);
      expect(await store.it.get(PLACE, "mood")).toBe('"good"');
    });

    it("lists keys in order, as many as are asked for", async () => {
      await using store = await make();
      for (const key of ["b", "Z", "a", "ä"]) await store.it.set(PLACE, { key, json: "1" }, 1_000);
      const listed = await store.it.list(PLACE, ALL);
      expect(listed.map(({ key }) => key)).toEqual(["Z", "a", "b", "ä"]);
      expect(await store.it.list(PLACE, { prefix: "", limit: 2 })).toEqual(listed.slice(0, 2));
    });

    it("lists the keys that begin with a text, taken literally", async () => {
      await using store = await make();
      for (const key of ["form.1", "form.😀", "form", "formal", "f%m", "f_m", "form.\u{10FFFF}x"])
        await store.it.set(PLACE, { key, json: "1" }, 1_000);
      const keysFrom = async (prefix: string) =>
        (await store.it.list(PLACE, { prefix, limit: 100 })).map(({ key }) => key);
      expect(await keysFrom("form.")).toEqual(["form.1", "form.😀", "form.\u{10FFFF}x"]);
      expect(await keysFrom("f%")).toEqual(["f%m"]);
      expect(await keysFrom("f_")).toEqual(["f_m"]);
      expect(await keysFrom("none")).toEqual([]);
    });

    it("gets the entries of several keys, as far as there are any", async () => {
      await using store = await make();
      for (const key of ["b", "a", "c"]) await store.it.set(PLACE, { key, json: `"${key}"` }, 1_000);
      expect(await store.it.getAll(PLACE, ["c", "gone", "a"])).toEqual([
        { key: "a", json: '"a"' },
        { key: "c", json: '"c"' },
      ]);
      expect(await store.it.getAll(PLACE, [])).toEqual([]);
    });
  });
}
