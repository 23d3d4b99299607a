/** Grants in memory: a double for tests that keeps the promises of the port. */
import type { Grant, GrantName } from "../../domain/grant.js";
import type { GrantStore } from "../../ports/grant-store.js";

export class MemoryGrantStore implements GrantStore {
  readonly #grants = new Map<string, Grant>();

  async get(name: GrantName): Promise<Grant | null> {
    return this.#grants.get(placeOf(name)) ?? null;
  }

  async raise(grant: Grant): Promise<Grant> {
    const standing = this.#grants.get(placeOf(grant));
    const isBehind =
      standing !== undefined &&
      (standing.revision > grant.revision ||
        (standing.revision === grant.revision &&
          (standing.revoked || (!grant.revoked && standing.expiresAt > grant.expiresAt))));
    if (isBehind) return standing;
    this.#grants.set(placeOf(grant), grant);
    return grant;
  }
}

function placeOf({ tenant, grantId }: GrantName): string {
  return JSON.stringify([tenant, grantId]);
}
