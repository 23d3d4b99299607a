/** Ties a run to its session's box: one container however many bind at once, and empty directories of the run's own (box §4). */
import type { BoxSettings } from "../domain/box.js";
import type { RunId, SessionId } from "../domain/ids.js";
import type { SessionRecord } from "../domain/session.js";
import { CleanupStack } from "../lib/cleanup-stack.js";
import type { KeyedLock } from "../lib/keyed-lock.js";
import type { BoxHandle } from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";
import { type BoxLease, type LeaseDeps, makeLease } from "./box-lease.js";
import { BOX_NOTES } from "./box-notes.js";
import type { BoxOpener, OpenedBox, OpenerDeps } from "./box-opener.js";
import { runDirectories } from "./export-paths.js";
import { type FindDeps, findOrCreateSession } from "./find-session.js";
import { reopener } from "./reopen-box.js";
import { RevivingHandle } from "./reviving-handle.js";

export interface BindDeps extends OpenerDeps, FindDeps, LeaseDeps {
  readonly backend: OpenerDeps["backend"];
  readonly opener: BoxOpener;
  readonly locks: KeyedLock<SessionId>;
}

export interface BindRequest {
  readonly session: SessionRecord;
  readonly runId: RunId;
  readonly settings: BoxSettings;
}

interface EnteredBox extends OpenedBox {
  readonly handle: BoxHandle;
}

/**
 * @throws ServiceError `box.capacity`, `box.conflict`, and what the engine fails with; then nothing is held and what
 * was made is an ordinary idle box
 */
export async function bindBox(deps: BindDeps, request: BindRequest, options: CallOptions): Promise<BoxLease> {
  const { tenant, key, identity } = request.session;
  for (;;) {
    const { id } = await findOrCreateSession(deps, { tenant, key: { key, identity } }, options);
    await using taken = new CleanupStack();
    taken.use(deps.boxes.hold(id));
    const entered = await enterBox(deps, { ...request, id, tenant }, options);
    // A session that was deleted meanwhile is made anew: the message gets a new box (box §11.8).
    if (entered === null) continue;
    const { session, notes } = entered;
    const { settings } = request;
    const own = runDirectories(request.runId);
    const reopening = { id, tenant, settings, directories: [own.inbox, own.outbox] };
    taken.defer(() => touch(deps, id));
    const handle = taken.use(new RevivingHandle(entered.handle, reopener(deps, reopening, entered)));
    await touch(deps, id);
    return makeLease(deps, { session, handle, notes, settings, ...own }, taken.move());
  }
}

async function touch(deps: BindDeps, id: SessionId): Promise<void> {
  await deps.sessions.update(id, { lastUsedAt: deps.clock.now() });
}

type EnterRequest = BindRequest & { readonly id: SessionId; readonly tenant: string };

/** @returns null when the session is gone */
async function enterBox(
  deps: BindDeps,
  request: EnterRequest,
  options: CallOptions,
): Promise<EnteredBox | null> {
  using _turn = await deps.locks.acquire(request.id, options);
  await deps.boxes.settled(request.id);
  const session = await deps.sessions.get(request.tenant, request.id);
  if (session === null) return null;
  const opened = await deps.opener.open(session, request.settings, options);
  try {
    return { ...opened, handle: await openHandle(deps, { opened, request }, options) };
  } catch (error) {
    options.signal.throwIfAborted();
    if (deps.boxes.holds(request.id) > 1) throw error;
    deps.logger.warn({ sessionId: session.id }, "A box does not answer and is replaced.", error);
  }
  const notes = [BOX_NOTES.replaced];
  const again = await deps.opener.replace(opened.session, { settings: request.settings, notes }, options);
  return { ...again, handle: await openHandle(deps, { opened: again, request }, options) };
}

async function openHandle(
  deps: BindDeps,
  of: { readonly opened: OpenedBox; readonly request: EnterRequest },
  options: CallOptions,
): Promise<BoxHandle> {
  const { inbox, outbox } = runDirectories(of.request.runId);
  await using taken = new CleanupStack();
  const handle = taken.use(await deps.backend.open(of.opened.place, options));
  // A read-only workspace cannot be written from inside, so no directories are made there.
  if (of.request.settings.workspaceMode === "rw")
    await handle.files.resetDirectories([inbox, outbox], options);
  taken.move();
  return handle;
}
