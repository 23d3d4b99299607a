/** Session records in memory: a double for tests that keeps the promises of the port. */
import type { SessionId } from "../../domain/ids.js";
import { POOL_TENANT, type SessionRecord } from "../../domain/session.js";
import type {
  SessionChange,
  SessionOwner,
  SessionPage,
  SessionStore,
  SessionUse,
} from "../../ports/session-store.js";

export class MemorySessionStore implements SessionStore {
  /** In order of creation. */
  readonly #sessions = new Map<SessionId, SessionRecord>();

  async findOrCreate(record: SessionRecord): Promise<SessionRecord> {
    const standing = this.#find(record.tenant, record.identity);
    if (standing !== null) return standing;
    this.#sessions.set(record.id, record);
    return record;
  }

  async adopt(id: SessionId, by: SessionOwner): Promise<SessionRecord | null> {
    const standing = this.#find(by.tenant, by.identity);
    if (standing !== null) return standing;
    const record = this.#sessions.get(id);
    if (record?.tenant !== POOL_TENANT) return null;
    const adopted = { ...record, ...by };
    // It is as new as a record that is made at this moment.
    this.#sessions.delete(id);
    this.#sessions.set(id, adopted);
    return adopted;
  }

  async get(tenant: string, id: SessionId): Promise<SessionRecord | null> {
    const record = this.#sessions.get(id);
    return record?.tenant === tenant ? record : null;
  }

  async findByIdentity(tenant: string, identity: string): Promise<SessionRecord | null> {
    return this.#find(tenant, identity);
  }

  async update(id: SessionId, change: SessionChange): Promise<SessionRecord | null> {
    const record = this.#sessions.get(id);
    if (record === undefined) return null;
    const changed = { ...record, ...change };
    this.#sessions.set(id, changed);
    return changed;
  }

  async noteUse(id: SessionId, { lastUsedAt, untold }: SessionUse): Promise<void> {
    const record = this.#sessions.get(id);
    if (record === undefined) return;
    this.#sessions.set(id, { ...record, lastUsedAt, untold: untold ?? record.untold });
  }

  async list(tenant: string, page: SessionPage): Promise<readonly SessionRecord[]> {
    const newestFirst = [...this.#sessions.values()]
      .filter((record) => record.tenant === tenant)
      .toReversed();
    const start =
      page.after === null ? 0 : newestFirst.findIndex(({ id }) => id === page.after) + 1 || Infinity;
    return newestFirst.slice(start).slice(0, page.limit);
  }

  async listAll(): Promise<readonly SessionRecord[]> {
    return [...this.#sessions.values()];
  }

  async remove(id: SessionId): Promise<void> {
    this.#sessions.delete(id);
  }

  #find(tenant: string, identity: string): SessionRecord | null {
    const records = [...this.#sessions.values()];
    return records.find((record) => record.tenant === tenant && record.identity === identity) ?? null;
  }
}
