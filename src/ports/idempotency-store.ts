/** Idempotency keys of a tenant, kept 24 h (api §1.5, runs §9.2). Contract: test/contracts/idempotency-store.ts. */
import type { RunId } from "../domain/ids.js";

export interface IdempotencyRecord {
  readonly tenant: string;
  readonly key: string;
  /** sha256 hex of the request body. */
  readonly bodyHash: string;
  readonly runId: RunId;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

export interface IdempotencyStore {
  /** Inserts unless the key is there and not older than `expiredBefore`; simultaneous calls agree on one. @returns the record that stands */
  claim(record: IdempotencyRecord, expiredBefore: number): Promise<IdempotencyRecord>;
  /** Removes keys from before a time. @returns how many, at most `limit` */
  removeExpired(expiredBefore: number, limit: number): Promise<number>;
  /** Points the key to a new attempt, if it still points to the old one. @returns the record that stands */
  replace(record: IdempotencyRecord, old: RunId): Promise<IdempotencyRecord>;
}
