/** Boxes come to rest, with their workspace kept, and sessions are deleted (box §11.3, §11.8). */
import { ServiceError } from "../domain/errors.js";
import type { SessionId } from "../domain/ids.js";
import type { KeyedLock } from "../lib/keyed-lock.js";
import type { BoxBackend } from "../ports/box-backend.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";
import type { SessionStore } from "../ports/session-store.js";
import type { OpenBoxes, Rest } from "./open-boxes.js";
import type { RecentErrors } from "./recent-errors.js";

export interface RestDeps {
  readonly backend: BoxBackend;
  readonly sessions: SessionStore;
  readonly boxes: OpenBoxes;
  readonly locks: KeyedLock<SessionId>;
  readonly logger: Logger;
  readonly errors: Pick<RecentErrors, "add">;
}

/** Removes the container and keeps the workspace; the caller has made sure that nobody holds the box. */
export async function restBox(deps: RestDeps, id: SessionId, options: CallOptions): Promise<void> {
  using _turn = await deps.locks.acquire(id, options);
  const box = deps.boxes.get(id);
  if (box === null) return;
  const session = await deps.sessions.get(box.tenant, id);
  const container = session?.container ?? box.container;
  if (container !== null) await deps.backend.removeContainer(container, options);
  await deps.sessions.update(id, { container: null });
  deps.logger.info({ sessionId: id }, "A box was rested.");
}

/** Its processes stand still; the caller has made sure that nobody holds the box. */
export async function pauseBox(deps: RestDeps, id: SessionId, options: CallOptions): Promise<void> {
  using _turn = await deps.locks.acquire(id, options);
  const container = deps.boxes.get(id)?.container ?? null;
  if (container !== null) await deps.backend.pause(container, options);
  deps.logger.debug({ sessionId: id }, "A box was paused.");
}

/** Its processes end, its container stays; the caller has made sure that nobody holds the box. */
export async function stopBox(deps: RestDeps, id: SessionId, options: CallOptions): Promise<void> {
  using _turn = await deps.locks.acquire(id, options);
  const container = deps.boxes.get(id)?.container ?? null;
  if (container !== null) await deps.backend.stop(container, options);
  deps.logger.info({ sessionId: id }, "A box was stopped.");
}

/**
 * Rests the box of a session that nobody uses, whether it is due or not; one without a container stays as it is.
 * @throws ServiceError `session.not_found`; `box.conflict` while somebody holds the box
 */
export async function stopSession(
  deps: RestDeps,
  of: { readonly tenant: string; readonly id: SessionId; readonly rest: Rest },
): Promise<void> {
  const { tenant, id, rest } = of;
  if ((await deps.sessions.get(tenant, id)) === null) throw sessionNotFound(id);
  await deps.boxes.settled(id);
  const isRested = await deps.boxes.close(id, rest);
  if (!isRested && deps.boxes.holds(id) > 0)
    throw sessionInUse(id, "Wait until it has ended, or cancel the run.");
}

/**
 * Removes a session with box and workspace. What the engine does not give up at this moment belongs to no record
 * afterwards, and the next reconciliation removes it.
 * @throws ServiceError `session.not_found`; `box.conflict` while a run holds the box, unless forced
 */
export async function removeSession(
  deps: RestDeps,
  of: { readonly tenant: string; readonly id: SessionId; readonly force: boolean },
  options: CallOptions,
): Promise<void> {
  const { tenant, id } = of;
  if ((await deps.sessions.get(tenant, id)) === null) throw sessionNotFound(id);
  if (!of.force && deps.boxes.holds(id) > 0)
    throw sessionInUse(id, "Wait until it has ended, cancel the run, or delete with force.");
  using _turn = await deps.locks.acquire(id, options);
  const session = await deps.sessions.get(tenant, id);
  if (session === null) return;
  try {
    if (session.container !== null) await deps.backend.removeContainer(session.container, options);
    await deps.backend.removeWorkspace(session.volume, options);
  } catch (error) {
    options.signal.throwIfAborted();
    deps.errors.add(error, tenant);
    deps.logger.warn({ sessionId: id }, "A deleted session is still on the engine.", error);
  }
  await deps.sessions.remove(id);
  deps.boxes.forget(id);
  deps.logger.info({ sessionId: id }, "A session was removed.");
}

function sessionInUse(id: SessionId, hint: string): ServiceError {
  const message = `The session ${id} is in use by a run, a command or a file request.`;
  return new ServiceError("box.conflict", message, { hint });
}

export function sessionNotFound(id: string): ServiceError {
  return new ServiceError("session.not_found", `There is no session "${id.slice(0, 100)}".`);
}
