/** Compares what the engine holds of this service with the records, and corrects both (box §11.9, §11.11). */
import type { SessionId } from "../domain/ids.js";
import type { SessionRecord } from "../domain/session.js";
import type { KeyedLock } from "../lib/keyed-lock.js";
import type { BoxBackend, Owned } from "../ports/box-backend.js";
import type { Clock } from "../ports/clock.js";
import type { LogFields, Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";
import type { SessionStore } from "../ports/session-store.js";
import type { OpenBoxes } from "./open-boxes.js";
import type { RecentErrors } from "./recent-errors.js";

export interface ReconcileDeps {
  readonly backend: BoxBackend;
  readonly sessions: SessionStore;
  readonly boxes: OpenBoxes;
  readonly locks: KeyedLock<SessionId>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly errors: Pick<RecentErrors, "add">;
  /** Milliseconds a workspace is kept after its last use; Infinity = for ever. */
  readonly workspaceTtlMs: number;
}

export interface ReconcilePlan {
  /** Containers and volumes that no record names. */
  readonly strayContainers: readonly string[];
  readonly strayVolumes: readonly string[];
  /** Records whose container is gone, and records whose workspace is due. */
  readonly lost: readonly SessionRecord[];
  readonly expired: readonly SessionRecord[];
}

/**
 * @param records read after `owned` was listed, so that everything listed had its record before
 * @param isBusy sessions whose box is made or used at this moment: theirs is left alone
 */
export function planReconciliation(
  owned: Owned,
  records: readonly SessionRecord[],
  of: { readonly isBusy: (id: string) => boolean; readonly expiredBefore: number },
): ReconcilePlan {
  const containers = new Set(records.flatMap(({ container }) => container ?? []));
  const volumes = new Set(records.map(({ volume }) => volume));
  const found = new Set(owned.containers.map(({ name }) => name));
  const quiet = records.filter(({ id }) => !of.isBusy(id));
  return {
    strayContainers: owned.containers.flatMap(({ name, sessionId }) =>
      containers.has(name) || (sessionId !== null && of.isBusy(sessionId)) ? [] : [name],
    ),
    strayVolumes: owned.volumes.filter((volume) => !volumes.has(volume)),
    lost: quiet.filter(({ container }) => container !== null && !found.has(container)),
    expired: quiet.filter(
      ({ container, prepared, lastUsedAt }) =>
        container === null && prepared && lastUsedAt < of.expiredBefore,
    ),
  };
}

/**
 * One round. A thing that cannot be corrected is logged and met again by the next round.
 * @throws what listing fails with
 */
export async function reconcileBoxes(deps: ReconcileDeps, options: CallOptions): Promise<void> {
  const owned = await deps.backend.listOwned(options);
  const records = await deps.sessions.listAll();
  const plan = planReconciliation(owned, records, {
    isBusy: (id) => records.some((record) => record.id === id && deps.boxes.holds(record.id) > 0),
    expiredBefore: deps.clock.now() - deps.workspaceTtlMs,
  });
  const states = new Map(owned.containers.map(({ name, state }) => [name, state]));
  for (const { id, container } of records) {
    const state = container === null ? undefined : states.get(container);
    if (state !== undefined) deps.boxes.see(id, state);
  }
  const { backend } = deps;
  const attempt = async (fields: LogFields, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      options.signal.throwIfAborted();
      deps.errors.add(error, null);
      deps.logger.warn(fields, "The reconciliation of a box failed and is repeated.", error);
    }
  };
  for (const container of plan.strayContainers)
    await attempt({ container }, () => backend.removeContainer(container, options));
  for (const volume of plan.strayVolumes)
    await attempt({ volume }, () => backend.removeWorkspace(volume, options));
  for (const record of plan.lost)
    await attempt({ sessionId: record.id }, () => correctLost(deps, record, options));
  for (const record of plan.expired)
    await attempt({ sessionId: record.id }, () => expire(deps, record, options));
  await attempt({ engine: backend.engine }, () => backend.releaseUnused(options));
}

/** The record says what is true; the session's next run is told that its processes are gone. */
async function correctLost(deps: ReconcileDeps, record: SessionRecord, options: CallOptions): Promise<void> {
  using _turn = await deps.locks.acquire(record.id, options);
  const current = await deps.sessions.get(record.tenant, record.id);
  if (current?.container !== record.container || record.container === null) return;
  if (deps.boxes.holds(record.id) > 0) return;
  if ((await deps.backend.inspect(record.container, options)) !== null) return;
  await deps.sessions.update(record.id, { container: null });
  deps.boxes.forget(record.id);
  deps.logger.info({ sessionId: record.id }, "A box was lost.");
}

/** The record stays, unprepared: the session's next run is told that earlier files are gone (box §11.9). */
async function expire(deps: ReconcileDeps, record: SessionRecord, options: CallOptions): Promise<void> {
  using _turn = await deps.locks.acquire(record.id, options);
  const current = await deps.sessions.get(record.tenant, record.id);
  if (current === null || current.container !== null || deps.boxes.holds(record.id) > 0) return;
  if (current.lastUsedAt !== record.lastUsedAt) return;
  await deps.backend.removeWorkspace(record.volume, options);
  await deps.sessions.update(record.id, { prepared: false });
  deps.logger.info({ sessionId: record.id }, "A workspace has expired.");
}
