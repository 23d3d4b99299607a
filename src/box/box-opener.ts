/** Makes the container of a session exist and run: looks at its real state first, and loses as little as possible (box §11.4). */
import type { BoxSettings } from "../domain/box.js";
import { ServiceError } from "../domain/errors.js";
import type { SessionRecord } from "../domain/session.js";
import type { BoxBackend, BoxPlace } from "../ports/box-backend.js";
import type { BoxHandle } from "../ports/box-handle.js";
import type { Clock } from "../ports/clock.js";
import type { IdSource } from "../ports/id-source.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";
import type { SessionStore } from "../ports/session-store.js";
import { containerName } from "./box-names.js";
import { addNotes, BOX_NOTES } from "./box-notes.js";
import { findSettingsChanges, settingsFingerprint } from "./box-policy.js";
import { claimUid } from "./claim-uid.js";
import type { OpenBoxes, Rest } from "./open-boxes.js";
import { type NamedSession, placeOf } from "./session-place.js";

export interface OpenerDeps {
  readonly backend: BoxBackend;
  readonly sessions: SessionStore;
  readonly boxes: OpenBoxes;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: Logger;
  /** Rests another session's box to make room. */
  readonly rest: Rest;
}

export interface OpenedBox {
  readonly session: SessionRecord;
  readonly place: BoxPlace;
  /** What this opening found lost, one sentence each; the record has it too, until a run is told. */
  readonly notes: readonly string[];
}

export interface ReadyBox extends OpenedBox {
  readonly handle: BoxHandle;
}

/** Time for clearing away what a failed start left. */
const CLEAN_UP_MS = 20_000;

/** All of it runs under the session's lock and while the caller holds the box. */
export class BoxOpener {
  readonly #deps: OpenerDeps;

  constructor(deps: OpenerDeps) {
    this.#deps = deps;
  }

  /** @throws ServiceError `box.conflict`, `box.capacity`, and what the engine fails with */
  async open(session: SessionRecord, settings: BoxSettings, options: CallOptions): Promise<OpenedBox> {
    const { container, tenant, uid } = session;
    if (container === null) return this.#create(session, { settings, notes: restedNotes(session) }, options);
    if (session.settings !== settingsFingerprint(settings)) {
      this.#checkConflict(session, settings);
      return this.replace(session, { settings, notes: [BOX_NOTES.changed] }, options);
    }
    const { backend, boxes, rest } = this.#deps;
    // One that was stopped has no place among those that are awake.
    await boxes.reserve(session.id, { tenant, uid, rest }, options);
    const found = await backend.inspect(container, options);
    if (found === null) return this.#create(session, { settings, notes: [BOX_NOTES.vanished] }, options);
    const named = { ...session, container };
    if (found.state === "running") return this.#adopt(named, { settings, startedAt: found.startedAt });
    return this.#wake(named, { settings, wasPaused: found.state === "paused" }, options);
  }

  /**
   * A box that was made ready and that nobody has used, with a handle to it; the engine is not asked. What can only be
   * seen there is missed, so the first answer over the handle has to show that the box runs (box §11.4).
   * @returns null where the box has to be opened
   */
  openReady(session: SessionRecord, settings: BoxSettings): ReadyBox | null {
    const { backend, boxes } = this.#deps;
    const { id, tenant, container, untold } = session;
    const known = boxes.get(id);
    if (known === null || known.startedAt === null || container === null || untold !== null) return null;
    if (known.container !== container || !boxes.isAwake(id)) return null;
    if (session.settings !== settingsFingerprint(settings)) return null;
    const place = placeOf({ ...session, container });
    const handle = backend.openServed(place, known.startedAt);
    if (handle === null) return null;
    boxes.set(id, { ...known, tenant, settings });
    return { session, place, notes: [], handle };
  }

  /** A new container on the same workspace, under a new name; the old one is removed first (security §8). */
  async replace(
    session: SessionRecord,
    of: { readonly settings: BoxSettings; readonly notes: readonly string[] },
    options: CallOptions,
  ): Promise<OpenedBox> {
    if (session.container !== null) await this.#deps.backend.removeContainer(session.container, options);
    return this.#create(session, of, options);
  }

  #checkConflict(session: SessionRecord, settings: BoxSettings): void {
    if (this.#deps.boxes.holds(session.id) < 2) return;
    const known = this.#deps.boxes.get(session.id)?.settings ?? null;
    const fields = known === null ? ["settings"] : findSettingsChanges(known, settings);
    throw new ServiceError("box.conflict", `The box is in use with other settings: ${fields.join(", ")}.`, {
      hint: "Wait until the runs that use it have ended.",
      details: { fields },
    });
  }

  async #adopt(
    session: NamedSession,
    of: { readonly settings: BoxSettings; readonly startedAt: string },
  ): Promise<OpenedBox> {
    const before = this.#deps.boxes.get(session.id)?.startedAt ?? null;
    const notes = before === null || before === of.startedAt ? [] : [BOX_NOTES.restarted];
    const { tenant, container, uid } = session;
    this.#deps.boxes.set(session.id, {
      tenant,
      container,
      uid,
      settings: of.settings,
      startedAt: of.startedAt,
    });
    const noted = await this.#note(session, notes);
    return { session: noted, place: placeOf(session), notes };
  }

  /** A loss is recorded before it can be forgotten: another process may be the one that tells it. */
  async #note<Named extends SessionRecord>(session: Named, notes: readonly string[]): Promise<Named> {
    const untold = addNotes(session.untold, notes);
    if (notes.length > 0) await this.#deps.sessions.update(session.id, { untold });
    return { ...session, untold };
  }

  async #wake(
    session: NamedSession,
    of: { readonly settings: BoxSettings; readonly wasPaused: boolean },
    options: CallOptions,
  ): Promise<OpenedBox> {
    const { backend, logger } = this.#deps;
    const notes = of.wasPaused ? [] : [BOX_NOTES.restarted];
    const noted = await this.#note(session, notes);
    let startedAt: string;
    try {
      await backend.start(placeOf(session), of.settings, options);
      startedAt = (await this.#inspectStarted(session.container, options)).startedAt;
    } catch (error) {
      options.signal.throwIfAborted();
      logger.warn({ sessionId: session.id }, "A box could not be woken and is replaced.", error);
      return this.replace(session, { settings: of.settings, notes: [BOX_NOTES.replaced] }, options);
    }
    const { tenant, container, uid } = session;
    this.#deps.boxes.set(session.id, { tenant, container, uid, settings: of.settings, startedAt });
    return { session: noted, place: placeOf(session), notes };
  }

  /** The record names the container before the engine hears of it, so that nothing is left unowned (box §18.5). */
  async #create(
    session: SessionRecord,
    of: { readonly settings: BoxSettings; readonly notes: readonly string[] },
    options: CallOptions,
  ): Promise<OpenedBox> {
    const { sessions, boxes, ids, clock, logger, rest } = this.#deps;
    const startedMs = clock.elapsed();
    await boxes.reserve(session.id, { tenant: session.tenant, uid: session.uid, rest }, options);
    const container = containerName(session.identity, ids);
    try {
      const uid = await claimUid(this.#deps, session, options);
      const settings = settingsFingerprint(of.settings);
      const untold = addNotes(session.untold, of.notes);
      await sessions.update(session.id, { container, settings, untold });
      const opened = { ...session, uid, container, settings, untold, prepared: true };
      if (!session.prepared || uid !== session.uid) await this.#prepare(opened, of.settings, options);
      const isKept = await this.#start(opened, of.settings, options);
      const { startedAt } = await this.#inspectStarted(container, options);
      boxes.set(session.id, { tenant: session.tenant, container, uid, settings: of.settings, startedAt });
      logger.info(
        { sessionId: session.id, durationMs: Math.round(clock.elapsed() - startedMs) },
        "A box has started.",
      );
      if (isKept) return { session: opened, place: placeOf(opened), notes: of.notes };
      const notes = [BOX_NOTES.workspace_lost];
      const noted = await this.#note({ ...opened, untold: session.untold }, notes);
      return { session: noted, place: placeOf(opened), notes };
    } catch (error) {
      await this.#clearAway(session, container);
      throw error;
    }
  }

  /** @returns false when the workspace was not there any more, and an empty one was made */
  async #start(session: NamedSession, settings: BoxSettings, options: CallOptions): Promise<boolean> {
    const { backend } = this.#deps;
    try {
      await backend.start(placeOf(session), settings, options);
      return true;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "box.not_found") throw error;
    }
    await this.#prepare(session, settings, options);
    await backend.start(placeOf(session), settings, options);
    return false;
  }

  async #prepare(session: NamedSession, settings: BoxSettings, options: CallOptions): Promise<void> {
    await this.#deps.backend.prepareWorkspace(placeOf(session), settings, options);
    await this.#deps.sessions.update(session.id, { uid: session.uid, prepared: true });
  }

  async #inspectStarted(container: string, options: CallOptions): Promise<{ readonly startedAt: string }> {
    const found = await this.#deps.backend.inspect(container, options);
    if (found?.state === "running") return found;
    throw new ServiceError("box.readiness", "The box ended right after its start.", {
      hint: "Check that the image runs on this engine.",
    });
  }

  /** What cannot be cleared away stays in the record, and is looked at again by the next use and by reconciliation. */
  async #clearAway(session: SessionRecord, container: string): Promise<void> {
    const { backend, sessions, boxes, logger } = this.#deps;
    try {
      await backend.removeContainer(container, { signal: AbortSignal.timeout(CLEAN_UP_MS) });
      await sessions.update(session.id, { container: null, settings: session.settings });
      boxes.forget(session.id);
    } catch (error) {
      logger.warn({ sessionId: session.id }, "A box that did not start could not be removed.", error);
    }
  }
}

function restedNotes(session: SessionRecord): readonly string[] {
  if (session.settings === null) return [];
  return [session.prepared ? BOX_NOTES.rested : BOX_NOTES.expired];
}
