/** Ties a run to its session's box: one container however many bind at once, and empty directories of the run's own (box §4). */
import type { BoxSettings } from "../domain/box.js";
import type { RunId, SessionId } from "../domain/ids.js";
import type { SessionRecord } from "../domain/session.js";
import { CleanupStack } from "../lib/cleanup-stack.js";
import type { CallOptions } from "../ports/options.js";
import { type BoxLease, type HandLease, type LeaseDeps, makeLease } from "./box-lease.js";
import type { OpenedBox } from "./box-opener.js";
import { type EnterDeps, type EnterRequest, enterBox } from "./enter-box.js";
import { runDirectories } from "./export-paths.js";
import { type FindDeps, findOrCreateSession } from "./find-session.js";
import { importer } from "./import-at-rest.js";
import type { HoldKind } from "./open-boxes.js";
import { isDeleted, reopener } from "./reopen-box.js";
import { sessionNotFound } from "./rest-box.js";
import { RevivingHandle } from "./reviving-handle.js";

export interface BindDeps extends EnterDeps, FindDeps, LeaseDeps {
  readonly backend: EnterDeps["backend"];
}

export interface LeaseRequest {
  readonly session: SessionRecord;
  readonly settings: BoxSettings;
  /** For what the box is held; a use that is waited for if not given. */
  readonly kind?: HoldKind | undefined;
}

export interface BindRequest extends LeaseRequest {
  readonly runId: RunId;
}

interface HeldBox extends OpenedBox {
  readonly handle: RevivingHandle;
  /** Whether it ran before, so that more than its workspace may be worth something. */
  readonly wasRunning: boolean;
}

/**
 * @throws ServiceError `box.capacity`, `box.conflict`, and what the engine fails with; then nothing is held and what
 * was made is an ordinary idle box
 */
export async function bindBox(deps: BindDeps, request: BindRequest, options: CallOptions): Promise<BoxLease> {
  let { session } = request;
  for (;;) {
    const lease = await bindSession(deps, { ...request, session }, options);
    if (lease !== null) return lease;
    // A session that was deleted meanwhile is made anew: the message gets a new box (box §11.8).
    const { tenant, key, identity } = session;
    session = await findOrCreateSession(deps, { tenant, key: { key, identity } }, options);
  }
}

/** @returns null when the session is gone */
async function bindSession(
  deps: BindDeps,
  { session: { id, tenant }, runId, settings }: BindRequest,
  options: CallOptions,
): Promise<BoxLease | null> {
  const own = runDirectories(runId);
  await using taken = new CleanupStack();
  const of = { id, tenant, settings, directories: [own.inbox, own.outbox], isRun: true, taken };
  const entered = await holdBox(deps, of, options);
  if (entered === null) return null;
  const { session, handle, notes } = entered;
  const importFiles = importer(deps, { ...entered, settings });
  return makeLease(deps, { session, handle, notes, settings, ...own, importFiles }, taken.move());
}

/**
 * A lease for a person's command or file request: it makes no directories, and what it finds lost is still told to the
 * session's next run (box §11.5).
 * @throws ServiceError `session.not_found` when the session is gone, and as `bindBox`
 */
export async function leaseBox(
  deps: BindDeps,
  request: LeaseRequest,
  options: CallOptions,
): Promise<HandLease> {
  const { id, tenant } = request.session;
  await using taken = new CleanupStack();
  const { settings, kind } = request;
  const of = { id, tenant, settings, kind, directories: [], isRun: false, taken };
  const entered = await holdBox(deps, of, options);
  if (entered === null) throw sessionNotFound(id);
  const { session, handle, notes } = entered;
  return makeLease(deps, { session, handle, notes, settings }, taken.move());
}

/** @returns null when the session is gone */
async function holdBox(
  deps: BindDeps,
  { taken, kind, ...request }: EnterRequest & Pick<LeaseRequest, "kind"> & { readonly taken: CleanupStack },
  options: CallOptions,
): Promise<HeldBox | null> {
  taken.use(deps.boxes.hold(request.id, kind));
  const startedBefore = deps.boxes.get(request.id)?.startedAt ?? null;
  const entered = await enterBox(deps, request, options);
  if (entered === null) return null;
  const wasRunning = startedBefore !== null && deps.boxes.get(request.id)?.startedAt === startedBefore;
  taken.defer(() => touch(deps, request.id));
  const handle = taken.use(
    new RevivingHandle(entered.handle, {
      reopen: reopener(deps, request, entered),
      askDeleted: (asked) => isDeleted(deps, request, asked),
      env: request.settings.env,
    }),
  );
  return { ...entered, handle, wasRunning };
}

async function touch(deps: BindDeps, id: SessionId): Promise<void> {
  await deps.sessions.noteUse(id, { lastUsedAt: deps.clock.now() });
}
