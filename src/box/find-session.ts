/** Finds the session of a reuse key, or makes its record; nothing is created on the engine (box §2.5). */
import type { SessionRecord } from "../domain/session.js";
import type { KeyedLock } from "../lib/keyed-lock.js";
import type { BoxBackend } from "../ports/box-backend.js";
import type { Clock } from "../ports/clock.js";
import type { IdSource } from "../ports/id-source.js";
import type { CallOptions } from "../ports/options.js";
import type { SessionStore } from "../ports/session-store.js";
import { chooseUid, FIRST_UID, volumeName } from "./box-names.js";
import type { ReuseKey } from "./reuse-key.js";

export interface FindDeps {
  readonly backend: Pick<BoxBackend, "engine">;
  readonly sessions: SessionStore;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** New records are made one at a time, so that no two choose the same uid. */
  readonly creations: KeyedLock<"session">;
}

export type SessionKey = Pick<ReuseKey, "key" | "identity">;

/** Simultaneous calls for one key agree on one record (box §4.2). */
export async function findOrCreateSession(
  deps: FindDeps,
  of: { readonly tenant: string; readonly key: SessionKey },
  options: CallOptions,
): Promise<SessionRecord> {
  const { tenant, key } = of;
  const found = await deps.sessions.findByIdentity(tenant, key.identity);
  if (found !== null) return found;
  using _turn = await deps.creations.acquire("session", options);
  const now = deps.clock.now();
  const record: SessionRecord = {
    id: deps.ids.create("ses"),
    tenant,
    identity: key.identity,
    key: key.key,
    engine: deps.backend.engine,
    uid: await freeUid(deps.sessions),
    volume: volumeName(key.identity, deps.ids),
    container: null,
    prepared: false,
    settings: null,
    createdAt: now,
    lastUsedAt: now,
  };
  return await deps.sessions.findOrCreate(record);
}

/** Where more sessions are recorded than there are uids, the box gets a free one when it is made. */
async function freeUid(sessions: SessionStore): Promise<number> {
  const taken = new Set((await sessions.listAll()).map(({ uid }) => uid));
  return chooseUid(taken) ?? FIRST_UID;
}
