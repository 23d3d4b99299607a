/** The uid of a box user: the session's own, unless somebody else's container on the engine holds it (security §3.1). */
import { ServiceError } from "../domain/errors.js";
import type { SessionRecord } from "../domain/session.js";
import type { BoxBackend } from "../ports/box-backend.js";
import type { CallOptions } from "../ports/options.js";
import type { SessionStore } from "../ports/session-store.js";
import { chooseUid } from "./box-names.js";
import type { OpenBoxes } from "./open-boxes.js";

export interface ClaimDeps {
  readonly backend: BoxBackend;
  readonly sessions: SessionStore;
  readonly boxes: OpenBoxes;
}

/**
 * Claims a uid for a box that is about to be made; its slot is reserved. A container of this session that was left
 * behind is removed: a workspace is mounted in one container at a time.
 * @returns the session's uid, or a new one: then the workspace must be prepared again
 * @throws ServiceError `box.capacity` when no uid is left
 */
export async function claimUid(
  deps: ClaimDeps,
  session: SessionRecord,
  options: CallOptions,
): Promise<number> {
  const { backend, sessions, boxes } = deps;
  const onEngine = await backend.listUids(options);
  let isTaken = onEngine.includes(session.uid);
  if (isTaken) isTaken = !(await removeLeftovers(backend, session, options));
  if (!isTaken && !boxes.uidsBesides(session.id).includes(session.uid)) return session.uid;
  const recorded = (await sessions.listAll()).map(({ uid }) => uid);
  const taken = [...onEngine, ...boxes.uidsBesides(session.id)];
  const uid = chooseUid(new Set([...taken, ...recorded])) ?? chooseUid(new Set(taken));
  if (uid === null)
    throw new ServiceError("box.capacity", "Every uid of the range for box users is taken on this engine.", {
      hint: "Remove boxes of other services from the engine, or use another engine.",
    });
  boxes.set(session.id, { tenant: session.tenant, container: null, uid, settings: null, startedAt: null });
  return uid;
}

/** @returns whether one of them held the session's uid */
async function removeLeftovers(
  backend: BoxBackend,
  session: SessionRecord,
  options: CallOptions,
): Promise<boolean> {
  const { containers } = await backend.listOwned(options);
  const leftovers = containers.filter(({ sessionId }) => sessionId === session.id);
  for (const { name } of leftovers) await backend.removeContainer(name, options);
  return leftovers.some(({ uid }) => uid === session.uid);
}
