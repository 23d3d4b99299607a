/** Another box for a lease whose box is gone; what the run had in its directories stays (box §11.4). */
import { ServiceError } from "../domain/errors.js";
import type { SessionId } from "../domain/ids.js";
import type { SessionRecord } from "../domain/session.js";
import { CleanupStack } from "../lib/cleanup-stack.js";
import type { BoxHandle } from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";
import { BOX_NOTES } from "./box-notes.js";
import type { OpenedBox } from "./box-opener.js";
import type { EnterDeps, EnterRequest } from "./enter-box.js";
import type { Reopen } from "./reviving-handle.js";

/** One start of one container. */
interface Incarnation {
  readonly container: string;
  readonly startedAt: string | null | undefined;
}

/**
 * Directories of the request are made again only when the workspace itself was lost.
 * @param opened the box that the lease began with; the caller holds it for as long as the lease lasts
 * @returns throws besides the errors of a bind `box.not_found` once the session was deleted
 */
export function reopener(deps: EnterDeps, request: EnterRequest, opened: OpenedBox): Reopen {
  let last = incarnationOf(deps, opened);
  /** Whether the lease has a handle for it. */
  let isServed = true;
  return async (options) => {
    using _turn = await deps.locks.acquire(request.id, options);
    const found = await deps.backend.inspect(last.container, options);
    if (isServed && found?.state === "running" && found.startedAt === last.startedAt) return null;
    const session = await findAdmitted(deps, request, options);
    isServed = false;
    const again = await deps.opener.open(session, request.settings, options);
    const handle = await openHandle(deps, { opened: again, request }, options);
    const next = incarnationOf(deps, again);
    const isOther = next.container !== last.container || next.startedAt !== last.startedAt;
    last = next;
    isServed = true;
    // What a person wakes is left to the session's next run.
    if (request.isRun) await deps.sessions.update(request.id, { untold: [] });
    // Whoever shares the box may have got it back first, and was told then.
    return { handle, notes: again.notes.length === 0 && isOther ? [BOX_NOTES.vanished] : again.notes };
  };
}

/** @throws ServiceError `box.not_found` for a deleted session, `box.admission` for a tenant without a valid grant */
async function findAdmitted(
  { sessions, grants }: EnterDeps,
  { id, tenant }: EnterRequest,
  options: CallOptions,
): Promise<SessionRecord> {
  const session = await sessions.get(tenant, id);
  if (session === null) throw sessionDeleted(id);
  await grants?.admit(tenant, options);
  return session;
}

/** Whether a session is there no more; a removal in progress has ended before the answer. */
export async function isDeleted(
  { locks, sessions }: Pick<EnterDeps, "locks" | "sessions">,
  { id, tenant }: Pick<EnterRequest, "id" | "tenant">,
  options: CallOptions,
): Promise<boolean> {
  using _turn = await locks.acquire(id, options);
  return (await sessions.get(tenant, id)) === null;
}

function sessionDeleted(id: SessionId): ServiceError {
  return new ServiceError(
    "box.not_found",
    `The session ${id} was deleted: its box and all its files are gone.`,
    {
      hint: "Nothing more can be done in this box; a new message gets a new one.",
    },
  );
}

function incarnationOf({ boxes }: EnterDeps, { session, place }: OpenedBox): Incarnation {
  return { container: place.container, startedAt: boxes.get(session.id)?.startedAt };
}

async function openHandle(
  deps: EnterDeps,
  { opened, request }: { readonly opened: OpenedBox; readonly request: EnterRequest },
  options: CallOptions,
): Promise<BoxHandle> {
  await using taken = new CleanupStack();
  const handle = taken.use(await deps.backend.open(opened.place, options));
  const isEmpty = opened.notes.includes(BOX_NOTES.workspace_lost);
  if (isEmpty && request.directories.length > 0)
    await handle.files.resetDirectories(request.directories, options);
  taken.move();
  return handle;
}
