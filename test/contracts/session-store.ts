/** What every store of session records promises (design §1.3, ports/session-store.ts). */
import { describe, expect, it } from "vitest";
import { POOL_TENANT } from "../../src/domain/session.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import type { Opened } from "../support/opened.js";
import { aSession } from "../support/records.js";

export function describeSessionStore(name: string, make: () => Promise<Opened<SessionStore>>): void {
  describe(`SessionStore of ${name}`, () => {
    it("gives a record back as it was created", async () => {
      await using store = await make();
      const box = { container: "berth-1", prepared: true, settings: "e".repeat(64) };
      const record = aSession({ ...box, untold: ["Files are gone."] });
      expect(await store.it.findOrCreate(record)).toEqual(record);
      expect(await store.it.get("main", "ses_1")).toEqual(record);
      expect(await store.it.findByIdentity("main", "identity-1")).toEqual(record);
    });

    it("keeps the record that stands when its identity comes again", async () => {
      await using store = await make();
      await store.it.findOrCreate(aSession());
      const again = await store.it.findOrCreate(aSession({ id: "ses_2", volume: "berth-volume-2" }));
      expect(again).toEqual(aSession());
      expect(await store.it.get("main", "ses_2")).toBeNull();
    });

    it("lets simultaneous calls agree on one record", async () => {
      await using store = await make();
      const ids = ["ses_1", "ses_2", "ses_3", "ses_4", "ses_5"] as const;
      const records = await Promise.all(ids.map((id) => store.it.findOrCreate(aSession({ id }))));
      expect(new Set(records.map(({ id }) => id)).size).toBe(1);
      expect(await store.it.listAll()).toHaveLength(1);
    });

    it("keeps equal identities of two tenants apart", async () => {
      await using store = await make();
      await store.it.findOrCreate(aSession());
      const theirs = aSession({ id: "ses_2", tenant: "other" });
      expect(await store.it.findOrCreate(theirs)).toEqual(theirs);
      expect(await store.it.get("other", "ses_1")).toBeNull();
      expect(await store.it.findByIdentity("other", "identity-1")).toEqual(theirs);
    });

    it("gives a record of the pool to a key, with its box, once", async () => {
      await using store = await make();
      const box = { uid: 30_007, volume: "berth-spare", container: "berth-c", prepared: true, settings: "s" };
      await store.it.findOrCreate(
        aSession({ ...box, id: "ses_p", tenant: POOL_TENANT, identity: "p", key: "" }),
      );
      await store.it.findOrCreate(aSession());
      const by = { tenant: "main", identity: "new", key: "person_7", createdAt: 7, lastUsedAt: 7 };
      const adopted = await store.it.adopt("ses_p", by);
      expect(adopted).toEqual(aSession({ ...box, ...by, id: "ses_p" }));
      expect(await store.it.get("main", "ses_p")).toEqual(adopted);
      expect(await store.it.get(POOL_TENANT, "ses_p")).toBeNull();
      expect(await store.it.adopt("ses_p", { ...by, identity: "other" })).toBeNull();
      const newest = await store.it.list("main", { limit: 1, after: null });
      expect(newest.map(({ id }) => id)).toEqual(["ses_p"]);
    });

    it("gives nothing of the pool to a key that has a session, and nothing that is no entry of it", async () => {
      await using store = await make();
      await store.it.findOrCreate(aSession({ id: "ses_p", tenant: POOL_TENANT, identity: "p" }));
      await store.it.findOrCreate(aSession());
      const by = { tenant: "main", identity: "identity-1", key: "k", createdAt: 7, lastUsedAt: 7 };
      expect(await store.it.adopt("ses_p", by)).toEqual(aSession());
      expect((await store.it.get(POOL_TENANT, "ses_p"))?.identity).toBe("p");
      expect(await store.it.adopt("ses_1", { ...by, identity: "free" })).toBeNull();
      expect(await store.it.adopt("ses_none", { ...by, identity: "free" })).toBeNull();
    });

    it("changes the named fields and gives the record after it", async () => {
      await using store = await make();
      await store.it.findOrCreate(aSession());
      const changed = await store.it.update("ses_1", { container: "berth-1", prepared: true });
      expect(changed).toEqual(aSession({ container: "berth-1", prepared: true }));
      const rested = await store.it.update("ses_1", { container: null, settings: "s", uid: 30_002 });
      expect(rested).toMatchObject({ container: null, prepared: true, settings: "s", uid: 30_002 });
      const used = await store.it.update("ses_1", { untold: [] });
      expect(used).toEqual({ ...rested, untold: [] });
      expect(await store.it.update("ses_1", { untold: null })).toEqual(rested);
      expect(await store.it.get("main", "ses_1")).toEqual(rested);
    });

    it("notes a use, with what is still to be told where that is said, and nothing of a record that is gone", async () => {
      await using store = await make();
      await store.it.findOrCreate(aSession({ untold: ["Files are gone."] }));
      await store.it.noteUse("ses_1", { lastUsedAt: 5 });
      expect(await store.it.get("main", "ses_1")).toEqual(
        aSession({ lastUsedAt: 5, untold: ["Files are gone."] }),
      );
      await store.it.noteUse("ses_1", { lastUsedAt: 6, untold: [] });
      expect(await store.it.get("main", "ses_1")).toEqual(aSession({ lastUsedAt: 6, untold: [] }));
      await store.it.noteUse("ses_none", { lastUsedAt: 7 });
      expect(await store.it.listAll()).toHaveLength(1);
    });

    it("changes nothing when no field is named, and has nothing to change of a record that is gone", async () => {
      await using store = await make();
      await store.it.findOrCreate(aSession());
      expect(await store.it.update("ses_1", {})).toEqual(aSession());
      await store.it.remove("ses_1");
      expect(await store.it.update("ses_1", { prepared: true })).toBeNull();
      expect(await store.it.get("main", "ses_1")).toBeNull();
      await expect(store.it.remove("ses_1")).resolves.toBeUndefined();
    });

    it("lets a removed identity begin anew", async () => {
      await using store = await make();
      await store.it.findOrCreate(aSession());
      await store.it.remove("ses_1");
      expect(await store.it.findOrCreate(aSession({ id: "ses_2" }))).toEqual(aSession({ id: "ses_2" }));
    });

    it("lists a tenant's sessions page by page, newest first", async () => {
      await using store = await make();
      for (const id of ["ses_c", "ses_a", "ses_b"] as const)
        await store.it.findOrCreate(aSession({ id, identity: id }));
      await store.it.findOrCreate(aSession({ id: "ses_x", tenant: "other" }));
      const page = async (after: string | null) =>
        (await store.it.list("main", { limit: 2, after })).map(({ id }) => id);
      expect(await page(null)).toEqual(["ses_b", "ses_a"]);
      expect(await page("ses_a")).toEqual(["ses_c"]);
      expect(await page("ses_c")).toEqual([]);
      expect(await page("ses_x")).toEqual([]);
    });

    it("lists all records of the service, oldest first", async () => {
      await using store = await make();
      await store.it.findOrCreate(aSession({ id: "ses_b" }));
      await store.it.findOrCreate(aSession({ id: "ses_a", tenant: "other" }));
      expect((await store.it.listAll()).map(({ id }) => id)).toEqual(["ses_b", "ses_a"]);
    });
  });
}
