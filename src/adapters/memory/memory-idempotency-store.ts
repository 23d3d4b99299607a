/** Idempotency keys in memory: a double for tests that keeps the promises of the port. */
import type { RunId } from "../../domain/ids.js";
import type { IdempotencyRecord, IdempotencyStore } from "../../ports/idempotency-store.js";

export class MemoryIdempotencyStore implements IdempotencyStore {
  readonly #records = new Map<string, IdempotencyRecord>();

  async claim(record: IdempotencyRecord, expiredBefore: number): Promise<IdempotencyRecord> {
    const place = placeOf(record);
    const standing = this.#records.get(place);
    if (standing !== undefined && standing.createdAt >= expiredBefore) return standing;
    this.#records.set(place, record);
    return record;
  }

  async removeExpired(expiredBefore: number, limit: number): Promise<number> {
    const expired = [...this.#records].filter(([, { createdAt }]) => createdAt < expiredBefore);
    for (const [place] of expired.slice(0, limit)) this.#records.delete(place);
    return Math.min(expired.length, limit);
  }

  async replace(record: IdempotencyRecord, old: RunId): Promise<IdempotencyRecord> {
    const place = placeOf(record);
    const standing = this.#records.get(place);
    if (standing !== undefined && standing.runId !== old) return standing;
    this.#records.set(place, record);
    return record;
  }
}

function placeOf(record: IdempotencyRecord): string {
  return JSON.stringify([record.tenant, record.key]);
}
