/** What every store of grants promises (box §16.3, ports/grant-store.ts). */
import { describe, expect, it } from "vitest";
import type { Grant } from "../../src/domain/grant.js";
import type { GrantStore } from "../../src/ports/grant-store.js";
import type { Opened } from "../support/opened.js";

const aGrant = (change: Partial<Grant> = {}): Grant => ({
  tenant: "main",
  grantId: "g-1",
  revision: 3,
  expiresAt: 60_000,
  boxes: 2,
  revoked: false,
  ...change,
});

export function describeGrantStore(name: string, make: () => Promise<Opened<GrantStore>>): void {
  describe(`GrantStore of ${name}`, () => {
    it("gives back what it keeps, for the tenant and the grant that were named and for no other", async () => {
      await using store = await make();
      expect(await store.it.get(aGrant())).toBeNull();
      expect(await store.it.raise(aGrant())).toEqual(aGrant());
      expect(await store.it.get(aGrant())).toEqual(aGrant());
      expect(await store.it.get(aGrant({ tenant: "other" }))).toBeNull();
      expect(await store.it.get(aGrant({ grantId: "g-2" }))).toBeNull();
    });

    it.each([
      { what: "a higher revision", given: aGrant({ revision: 4, expiresAt: 1, boxes: 0 }), isTaken: true },
      { what: "a later end", given: aGrant({ expiresAt: 60_001 }), isTaken: true },
      { what: "a revocation", given: aGrant({ expiresAt: 1, revoked: true }), isTaken: true },
      { what: "a lower revision", given: aGrant({ revision: 2, expiresAt: 90_000 }), isTaken: false },
      { what: "an older revocation", given: aGrant({ revision: 2, revoked: true }), isTaken: false },
      { what: "an earlier end", given: aGrant({ expiresAt: 59_999 }), isTaken: false },
    ])("decides on $what", async ({ given, isTaken }) => {
      await using store = await make();
      await store.it.raise(aGrant());
      const standing = isTaken ? given : aGrant();
      expect(await store.it.raise(given)).toEqual(standing);
      expect(await store.it.get(aGrant())).toEqual(standing);
    });

    it("never lets a revoked revision come back, and takes the one after it", async () => {
      await using store = await make();
      const revoked = aGrant({ revoked: true });
      await store.it.raise(revoked);
      expect(await store.it.raise(aGrant({ expiresAt: 90_000 }))).toEqual(revoked);
      const next = aGrant({ revision: 4, expiresAt: 90_000 });
      expect(await store.it.raise(next)).toEqual(next);
    });
  });
}
