/** Records of sessions: the truth of which box belongs to which key (design §1.3). Contract: test/contracts/session-store.ts. */
import type { SessionId } from "../domain/ids.js";
import type { SessionRecord } from "../domain/session.js";

export type SessionChange = Partial<
  Pick<SessionRecord, "uid" | "container" | "prepared" | "settings" | "untold">
>;

/** That somebody uses a session's box, and what its next run is still to be told; absent = as before. */
export interface SessionUse {
  readonly lastUsedAt: number;
  readonly untold?: readonly string[] | undefined;
}

/** Whose session a record of the pool becomes. */
export type SessionOwner = Pick<SessionRecord, "tenant" | "identity" | "key" | "createdAt" | "lastUsedAt">;

export interface SessionPage {
  readonly limit: number;
  /** Id of the last session of the page before. */
  readonly after: string | null;
}

export interface SessionStore {
  /**
   * Inserts unless a record with that tenant and identity exists; simultaneous calls agree on one record (box §4.2).
   * @returns the record that stands
   */
  findOrCreate(record: SessionRecord): Promise<SessionRecord>;
  /** @returns null for an unknown id and for one of another tenant (api §1.3) */
  get(tenant: string, id: SessionId): Promise<SessionRecord | null>;
  /**
   * Makes a record of the pool the session of a key, with all that the record names, in one step.
   * @returns the record that stands for the key: another one if there was one already; null when the pool has no such
   * record (any more)
   */
  adopt(id: SessionId, by: SessionOwner): Promise<SessionRecord | null>;
  findByIdentity(tenant: string, identity: string): Promise<SessionRecord | null>;
  /** Changes the named fields. @returns the record after it, null when it is gone */
  update(id: SessionId, change: SessionChange): Promise<SessionRecord | null>;
  /** Survives the end of the process; it may be lost with the machine's power until something else is written. */
  noteUse(id: SessionId, use: SessionUse): Promise<void>;
  /** Newest first. */
  list(tenant: string, page: SessionPage): Promise<readonly SessionRecord[]>;
  /** All records of the service, for reconciliation with the engine. */
  listAll(): Promise<readonly SessionRecord[]>;
  remove(id: SessionId): Promise<void>;
}
