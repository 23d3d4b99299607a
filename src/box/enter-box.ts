/** How a run or a person gets into a box: what answers is taken as it is, what does not is looked at and replaced (box §4, §11.4). */
import { type BoxSettings, WORKSPACE_ROOT } from "../domain/box.js";
import { ServiceError, toServiceError } from "../domain/errors.js";
import type { SessionId } from "../domain/ids.js";
import type { SessionRecord } from "../domain/session.js";
import { CleanupStack } from "../lib/cleanup-stack.js";
import type { KeyedLock } from "../lib/keyed-lock.js";
import type { BoxHandle } from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";
import { BOX_NOTES, FULL_NOTE } from "./box-notes.js";
import type { BoxOpener, OpenedBox, OpenerDeps, ReadyBox } from "./box-opener.js";
import type { TenantGrants } from "./tenant-grants.js";

export interface EnterDeps extends OpenerDeps {
  readonly opener: BoxOpener;
  readonly locks: KeyedLock<SessionId>;
  /** Absent = every tenant may use boxes. */
  readonly grants?: Pick<TenantGrants, "admit"> | undefined;
}

export interface EnterRequest {
  readonly id: SessionId;
  readonly tenant: string;
  readonly settings: BoxSettings;
  /** Made anew, empty. */
  readonly directories: readonly string[];
  /** A run is told what was lost since the run before it; a person only what this opening found lost. */
  readonly isRun: boolean;
}

interface AnsweringBox extends ReadyBox {
  /** What is told although nothing was lost. */
  readonly lacks: readonly string[];
}

interface SessionToEnter {
  readonly session: SessionRecord;
  readonly request: EnterRequest;
}

/** What the record keeps for the next run is told to this one, or kept on for it where this is none. */
export async function enterBox(
  deps: EnterDeps,
  request: EnterRequest,
  options: CallOptions,
): Promise<ReadyBox | null> {
  await deps.grants?.admit(request.tenant, options);
  using _turn = await deps.locks.acquire(request.id, options);
  await deps.boxes.settled(request.id);
  const session = await deps.sessions.get(request.tenant, request.id);
  if (session === null) return null;
  const asked = { session, request };
  const entered = (await enterReady(deps, asked, options)) ?? (await openAnswering(deps, asked, options));
  const { untold } = entered.session;
  const lastUsedAt = deps.clock.now();
  await deps.sessions.noteUse(session.id, { lastUsedAt, untold: request.isRun ? [] : (untold ?? []) });
  const lost = request.isRun ? (untold ?? []) : untold === null ? [] : entered.notes;
  return { ...entered, notes: [...lost, ...entered.lacks] };
}

/** The first use of a box of the pool. @returns null where the box has to be opened, or does not answer */
async function enterReady(
  deps: EnterDeps,
  { session, request }: SessionToEnter,
  options: CallOptions,
): Promise<AnsweringBox | null> {
  const ready = deps.opener.openReady(session, request.settings);
  if (ready === null) return null;
  await using taken = new CleanupStack();
  taken.use(ready.handle);
  try {
    const lacks = makesDirectories(request)
      ? await makeDirectories(ready.handle, request, options)
      : await askNothing(ready.handle, options);
    taken.move();
    return { ...ready, lacks };
  } catch (error) {
    options.signal.throwIfAborted();
    deps.logger.info(
      { sessionId: session.id, reason: toServiceError(error).code },
      "A box did not answer over its helper; its state is looked up.",
    );
    return null;
  }
}

/** A box that does not answer is replaced, unless others use it. */
async function openAnswering(
  deps: EnterDeps,
  { session, request }: SessionToEnter,
  options: CallOptions,
): Promise<AnsweringBox> {
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
  deps: EnterDeps,
  { opened, request }: { readonly opened: OpenedBox; readonly request: EnterRequest },
  options: CallOptions,
): Promise<AnsweringBox> {
  await using taken = new CleanupStack();
  const handle = taken.use(await deps.backend.open(opened.place, options));
  const lacks = makesDirectories(request) ? await makeDirectories(handle, request, options) : [];
  taken.move();
  return { ...opened, handle, lacks };
}

/** A read-only workspace cannot be written from inside. */
function makesDirectories({ directories, settings }: EnterRequest): boolean {
  return directories.length > 0 && settings.workspaceMode === "rw";
}

/** Any answer will do. */
async function askNothing(handle: BoxHandle, options: CallOptions): Promise<readonly string[]> {
  await handle.files.stat([WORKSPACE_ROOT], options);
  return [];
}

/** @returns what the run is told where they could not be made */
async function makeDirectories(
  handle: BoxHandle,
  { directories }: EnterRequest,
  options: CallOptions,
): Promise<readonly string[]> {
  try {
    await handle.files.resetDirectories(directories, options);
    return [];
  } catch (error) {
    // A full workspace needs a run that makes room in it.
    if (error instanceof ServiceError && error.code === "box.quota") return [FULL_NOTE];
    throw error;
  }
}
