/** The highest revision seen of every grant, kept across restarts (box §16.3). Contract: test/contracts/grant-store.ts. */
import type { Grant, GrantName } from "../domain/grant.js";

export interface GrantStore {
  get(name: GrantName): Promise<Grant | null>;
  /**
   * Keeps a grant unless a higher revision stands, or the same one revoked; of the same revision the later end.
   * @returns what stands
   */
  raise(grant: Grant): Promise<Grant>;
}
