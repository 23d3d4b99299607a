/** Finds the session of a reuse key, or makes its record; nothing is created on the engine (box §2.5). */
import { ServiceError } from "../domain/errors.js";
import type { SessionRecord } from "../domain/session.js";
import type { KeyedLock } from "../lib/keyed-lock.js";
import type { BoxBackend } from "../ports/box-backend.js";
import type { Clock } from "../ports/clock.js";
import type { IdSource } from "../ports/id-source.js";
import type { CallOptions } from "../ports/options.js";
import type { SessionStore } from "../ports/session-store.js";
import { chooseUid, FIRST_UID, volumeName } from "./box-names.js";
import { plainReuseKey, type ReuseKey } from "./reuse-key.js";

export interface RecordDeps {
  readonly backend: Pick<BoxBackend, "engine">;
  readonly sessions: SessionStore;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** New records are made one at a time, so that no two choose the same uid. */
  readonly creations: KeyedLock<"session">;
}

export interface FindDeps extends RecordDeps {
  readonly pool: { give(of: SessionOf): Promise<SessionRecord | null> };
}

export type SessionKey = Pick<ReuseKey, "key" | "identity">;

export interface SessionOf {
  readonly tenant: string;
  readonly key: SessionKey;
}

/** Simultaneous calls for one key agree on one record (box §4.2). A new session gets a box of the pool where there is one. */
export async function findOrCreateSession(
  deps: FindDeps,
  of: SessionOf,
  options: CallOptions,
): Promise<SessionRecord> {
  const found = await deps.sessions.findByIdentity(of.tenant, of.key.identity);
  if (found !== null) return found;
  {
    using _turn = await deps.creations.acquire("session", options);
    const adopted = await deps.pool.give(of);
    if (adopted !== null) return adopted;
  }
  return makeSession(deps, of, options);
}

/** Makes a record, unless its identity has one. */
export async function makeSession(
  deps: RecordDeps,
  { tenant, key }: SessionOf,
  options: CallOptions,
): Promise<SessionRecord> {
  using _turn = await deps.creations.acquire("session", options);
  const now = deps.clock.now();
  return await deps.sessions.findOrCreate({
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
    untold: null,
    createdAt: now,
    lastUsedAt: now,
  });
}

/** Where more sessions are recorded than there are uids, the box gets a free one when it is made. */
async function freeUid(sessions: SessionStore): Promise<number> {
  const taken = new Set((await sessions.listAll()).map(({ uid }) => uid));
  return chooseUid(taken) ?? FIRST_UID;
}

/** @throws ServiceError `box.validation` when another key is required (box §2.7) */
export function requireKey(required: string | null, { tenant, key }: SessionOf): void {
  if (required === null || plainReuseKey(required, tenant).identity === key.identity) return;
  throw new ServiceError(
    "box.validation",
    `The reuse key "${key.key.slice(0, 100)}" is not the required one.`,
    {
      hint: `Use the key "${required}", which the operator requires (boxes.required_reuse_key).`,
      param: "reuse_key",
    },
  );
}
