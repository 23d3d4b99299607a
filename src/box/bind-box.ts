/** Ties a run to its session's box: one container however many bind at once, and empty directories of the run's own (box §4). */
import type { BoxSettings } from "../domain/box.js";
import { ServiceError } from "../domain/errors.js";
import type { RunId, SessionId } from "../domain/ids.js";
import type { SessionRecord } from "../domain/session.js";
import { CleanupStack } from "../lib/cleanup-stack.js";
import type { KeyedLock } from "../lib/keyed-lock.js";
import type { BoxHandle } from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";
import { type BoxLease, type HandLease, type LeaseDeps, makeLease } from "./box-lease.js";
import { BOX_NOTES, FULL_NOTE } from "./box-notes.js";
import type { BoxOpener, OpenedBox, OpenerDeps } from "./box-opener.js";
import { runDirectories } from "./export-paths.js";
import { type FindDeps, findOrCreateSession } from "./find-session.js";
import { importer } from "./import-at-rest.js";
import type { HoldKind } from "./open-boxes.js";
import { isDeleted, reopener } from "./reopen-box.js";
import { sessionNotFound } from "./rest-box.js";
import { RevivingHandle } from "./reviving-handle.js";

export interface BindDeps extends OpenerDeps, FindDeps, LeaseDeps {
  readonly backend: OpenerDeps["backend"];
  readonly opener: BoxOpener;
  readonly locks: KeyedLock<SessionId>;
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

interface EnteredBox extends OpenedBox {
  readonly handle: BoxHandle;
}

interface AnsweringBox extends EnteredBox {
  /** What is told although nothing was lost. */
  readonly lacks: readonly string[];
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
  const { tenant, key, identity } = request.session;
  const own = runDirectories(request.runId);
  for (;;) {
    const { id } = await findOrCreateSession(deps, { tenant, key: { key, identity } }, options);
    await using taken = new CleanupStack();
    const of = {
      id,
      tenant,
      settings: request.settings,
      directories: [own.inbox, own.outbox],
      isRun: true,
      taken,
    };
    const entered = await holdBox(deps, of, options);
    // A session that was deleted meanwhile is made anew: the message gets a new box (box §11.8).
    if (entered === null) continue;
    const { session, handle, notes } = entered;
    const importFiles = importer(deps, { ...entered, settings: request.settings });
    const facts = { session, handle, notes, settings: request.settings, ...own, importFiles };
    return makeLease(deps, facts, taken.move());
  }
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

interface EnterRequest {
  readonly id: SessionId;
  readonly tenant: string;
  readonly settings: BoxSettings;
  /** Made anew, empty. */
  readonly directories: readonly string[];
  /** A run is told what was lost since the run before it; a person only what this opening found lost. */
  readonly isRun: boolean;
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
  await deps.sessions.update(id, { lastUsedAt: deps.clock.now() });
}

/** What the record keeps for the next run is told to this one, or kept on for it where this is none. */
async function enterBox(
  deps: BindDeps,
  request: EnterRequest,
  options: CallOptions,
): Promise<EnteredBox | null> {
  using _turn = await deps.locks.acquire(request.id, options);
  await deps.boxes.settled(request.id);
  const session = await deps.sessions.get(request.tenant, request.id);
  if (session === null) return null;
  const entered = await openAnswering(deps, { session, request }, options);
  const { untold } = entered.session;
  const lastUsedAt = deps.clock.now();
  await deps.sessions.update(session.id, { lastUsedAt, untold: request.isRun ? [] : (untold ?? []) });
  const lost = request.isRun ? (untold ?? []) : untold === null ? [] : entered.notes;
  return { ...entered, notes: [...lost, ...entered.lacks] };
}

/** A box that does not answer is replaced, unless others use it. */
async function openAnswering(
  deps: BindDeps,
  of: { readonly session: SessionRecord; readonly request: EnterRequest },
  options: CallOptions,
): Promise<AnsweringBox> {
  const { session, request } = of;
  const opened = await deps.opener.open(session, request.settings, options);
  try {
    return await openHandle(deps, { opened, request }, options);
  } catch (error) {
    options.signal.throwIfAborted();
    if (deps.boxes.holds(request.id) > 1) throw error;
    deps.logger.warn({ sessionId: session.id }, "A box does not answer and is replaced.", error);
  }
  const notes = [BOX_NOTES.replaced];
  const again = await deps.opener.replace(opened.session, { settings: request.settings, notes }, options);
  return openHandle(deps, { opened: again, request }, options);
}

async function openHandle(
  deps: BindDeps,
  { opened, request }: { readonly opened: OpenedBox; readonly request: EnterRequest },
  options: CallOptions,
): Promise<AnsweringBox> {
  await using taken = new CleanupStack();
  const handle = taken.use(await deps.backend.open(opened.place, options));
  const lacks = await makeDirectories(handle, request, options);
  taken.move();
  return { ...opened, handle, lacks };
}

/** @returns what the run is told where they could not be made */
async function makeDirectories(
  handle: BoxHandle,
  { directories, settings }: EnterRequest,
  options: CallOptions,
): Promise<readonly string[]> {
  // A read-only workspace cannot be written from inside, so no directories are made there.
  if (directories.length === 0 || settings.workspaceMode !== "rw") return [];
  try {
    await handle.files.resetDirectories(directories, options);
    return [];
  } catch (error) {
    // A full workspace needs a run that makes room in it.
    if (error instanceof ServiceError && error.code === "box.quota") return [FULL_NOTE];
    throw error;
  }
}
