/** What a box means to the service: sessions found by their key, boxes bound by runs, rested when idle (box §2–§4, §11). */
import { setMaxListeners } from "node:events";
import type { BoxSettings, BoxStatus } from "../domain/box.js";
import { ServiceError } from "../domain/errors.js";
import type { RunId, SessionId } from "../domain/ids.js";
import type { SessionRecord } from "../domain/session.js";
import { CleanupStack } from "../lib/cleanup-stack.js";
import { linkSignals } from "../lib/link-signals.js";
import type { CallOptions } from "../ports/options.js";
import { chooseSettings, readAcquireRequest } from "./acquire-request.js";
import { bindBox, leaseBox } from "./bind-box.js";
import { type BoxEntry, type BoxLimits, describeLimits } from "./box-entry.js";
import type { BoxLease, HandLease } from "./box-lease.js";
import { type BoxParts, type BoxServiceDeps, type BoxServiceSettings, makeBoxParts } from "./box-parts.js";
import { describeEngine, describeStatus, type EngineEntry } from "./box-status.js";
import { closeUngranted } from "./close-tenants.js";
import type { EngineState } from "./engine-state.js";
import { findOrCreateSession, makeSession, requireKey, type SessionKey } from "./find-session.js";
import type { HoldKind } from "./open-boxes.js";
import type { BoxError } from "./recent-errors.js";
import { removeSession, sessionNotFound, stopSession } from "./rest-box.js";
import { describeBoxes } from "./session-boxes.js";

export interface BindOptions extends CallOptions {
  readonly settings?: BoxSettings | undefined;
  /** As an acquire has named it; null or absent = that of the box, or the operator's. */
  readonly image?: string | null | undefined;
}

/** What an acquire gave. */
export interface AcquiredBox {
  readonly session: SessionRecord;
  readonly image: string | null;
}

export interface LeaseOptions extends CallOptions {
  /** For what the box is held; a use that is waited for if not given. */
  readonly kind?: HoldKind | undefined;
}

/** How many boxes there may be and how long they are kept, and the limits of each (api §4). */
export interface ServiceLimits extends BoxLimits {
  readonly max_boxes: number;
  /** ≤ 0 = boxes are never rested for being idle. */
  readonly idle_ttl_sec: number;
  /** 0 = workspaces are kept for ever. */
  readonly workspace_ttl_days: number;
  readonly profile: string;
  /** Of new boxes. */
  readonly network: BoxSettings["network"];
}

export class BoxService implements AsyncDisposable {
  readonly #parts: BoxParts;
  readonly #settings: BoxServiceSettings;
  /** Callers that wait for a box. */
  #waiting = 0;
  readonly #life = new AbortController();

  constructor(deps: BoxServiceDeps, settings: BoxServiceSettings) {
    this.#settings = settings;
    const { signal } = this.#life;
    // Every bind in flight listens to it.
    setMaxListeners(0, signal);
    this.#parts = makeBoxParts(deps, settings, { signal, isWanted: () => this.#waiting > 0 });
  }

  /**
   * Takes over the boxes of the process before, waits at most 5 s for the first probe, and starts the loops. An engine
   * that does not answer is no failure: it is probed again on use and every 30 s.
   */
  async start(options: CallOptions): Promise<void> {
    if (this.#settings.enabled) await this.#parts.upkeep.start(options);
  }

  /** Boxes that are starting, ready or paused. */
  get awakeCount(): number {
    return this.#parts.boxes.count;
  }

  /** Boxes that wait ready for new sessions. */
  get spareCount(): number {
    return this.#parts.pool.readyCount;
  }

  /**
   * Costs nothing while the engine is known to be there; one that is known to be lost is asked again.
   * @throws ServiceError `box.engine_unavailable`, `box.readiness`
   */
  async requireEngine(options: CallOptions): Promise<void> {
    await this.#parts.engine.ready(options);
  }

  async status(options: CallOptions): Promise<BoxStatus> {
    const engine = await this.#engineState(options);
    const { maxBoxes: limit, settings } = this.#settings;
    const status = describeStatus(engine, { limit, used: this.awakeCount, network: settings.network });
    return { ...status, required_reuse_key: this.requiredReuseKey };
  }

  /** The engines that carry boxes. */
  async engines(options: CallOptions): Promise<readonly EngineEntry[]> {
    const { image, network } = this.#settings.settings;
    const of = { name: this.#parts.backend.engine, image, network };
    return [describeEngine(await this.#engineState(options), of)];
  }

  get limits(): ServiceLimits {
    const { settings, profile, maxBoxes, idleTtlSec, workspaceTtlDays } = this.#settings;
    const counts = {
      max_boxes: maxBoxes,
      idle_ttl_sec: idleTtlSec,
      workspace_ttl_days: workspaceTtlDays,
    };
    return { ...counts, profile, network: settings.network, ...describeLimits(settings) };
  }

  /** What went wrong with boxes of the tenant, and with the engine: the newest 50, in order (box §3.4). */
  recentErrors(tenant: string): readonly BoxError[] {
    return this.#parts.errors.newest(tenant);
  }

  /** Boxes of a tenant that have a container or are being made. */
  async listBoxes(tenant: string, options: CallOptions): Promise<readonly BoxEntry[]> {
    const { sessions, boxes } = this.#parts;
    const open = (await sessions.listAll()).filter(
      (record) => record.tenant === tenant && (record.container !== null || boxes.get(record.id) !== null),
    );
    return this.describe(open, options);
  }

  /** How the boxes of these sessions are, in order. */
  async describe(records: readonly SessionRecord[], options: CallOptions): Promise<readonly BoxEntry[]> {
    return describeBoxes({ ...this.#parts, defaults: this.#settings }, records, options);
  }

  /** The one key that may be used; null = any. */
  get requiredReuseKey(): string | null {
    return this.#settings.requiredReuseKey ?? null;
  }

  /**
   * The session of a key; its record is made if there is none, and nothing on the engine.
   * @throws ServiceError `box.validation` for another key than the required one
   */
  async findOrCreateSession(tenant: string, key: SessionKey, options: CallOptions): Promise<SessionRecord> {
    requireKey(this.requiredReuseKey, { tenant, key });
    return findOrCreateSession(this.#parts, { tenant, key }, options);
  }

  /**
   * The session of a key that a runner names, with the image it may name; nothing is made on the engine (box §4.1).
   * @param request `{reuse_key, template?, options?: {image?}}`
   * @throws ServiceError `box.validation` for anything else in it, `box.forbidden` for an image that is not allowed
   */
  async acquire(tenant: string, request: unknown, options: CallOptions): Promise<AcquiredBox> {
    const rules = { tenant, images: this.#images, requiredKey: this.requiredReuseKey };
    const { key, image } = readAcquireRequest(request, rules);
    if (image === null) return { session: await this.findOrCreateSession(tenant, key, options), image };
    // A ready box of the pool has the operator's image.
    return { session: await makeSession(this.#parts, { tenant, key }, options), image };
  }

  get #images(): readonly string[] {
    return this.#settings.allowedImages ?? [];
  }

  #settingsOf(session: SessionRecord, image?: string | null): BoxSettings {
    return chooseSettings(this.#settings.settings, this.#images, { image, known: session.settings });
  }

  /** @throws ServiceError `session.not_found`, for one of another tenant too */
  async getSession(tenant: string, id: SessionId): Promise<SessionRecord> {
    const session = await this.#parts.sessions.get(tenant, id);
    if (session === null) throw sessionNotFound(id);
    return session;
  }

  /**
   * Makes the session's box run and gives the run a lease on it; while a lease is there the box is not rested.
   * @throws ServiceError `box.disabled`, `box.engine_unavailable`, `box.readiness`, `box.capacity`, `box.conflict`
   */
  async bind(session: SessionRecord, runId: RunId, options: BindOptions): Promise<BoxLease> {
    const settings = options.settings ?? this.#settingsOf(session, options.image);
    return this.#use(session.tenant, options, (linked) =>
      bindBox(this.#parts, { session, runId, settings }, linked),
    );
  }

  /**
   * A lease for a person's command or file request, a job or a terminal; the box runs and is shared with the runs of the
   * session.
   * @throws ServiceError as `bind`; `session.not_found` when the session is deleted meanwhile
   */
  async lease(session: SessionRecord, options: LeaseOptions): Promise<HandLease> {
    const settings = this.#settingsOf(session);
    return this.#use(session.tenant, options, (linked) =>
      leaseBox(this.#parts, { session, settings, kind: options.kind }, linked),
    );
  }

  async #use<Lease>(
    tenant: string,
    options: CallOptions,
    work: (linked: CallOptions) => Promise<Lease>,
  ): Promise<Lease> {
    if (!this.#settings.enabled)
      throw new ServiceError("box.disabled", "Boxes are switched off.", {
        hint: "Set boxes.enabled to true.",
      });
    if (this.#life.signal.aborted) throw new ServiceError("service.stopping", "The service is stopping.");
    using linked = linkSignals(options.signal, this.#life.signal);
    this.#waiting += 1;
    try {
      await this.#parts.engine.ready(linked);
      return await work(linked);
    } catch (error) {
      this.#parts.engine.report(error);
      if (!linked.signal.aborted) this.#parts.errors.add(error, tenant);
      throw error;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Closes the containers of tenants without a valid grant, where grants are configured; workspaces are kept. */
  async closeUngranted(options: CallOptions): Promise<void> {
    const { grants } = this.#parts;
    if (grants !== undefined) await closeUngranted(this.#parts, grants, options);
  }

  /** Whether a run, a command or a file request holds the box; jobs and terminals do not count. */
  isInUse(id: SessionId): boolean {
    return this.#parts.boxes.holds(id, "use") > 0;
  }

  /**
   * Gives up the container of a session at once, its workspace kept.
   * @throws ServiceError `session.not_found`; `box.conflict` while somebody uses the box
   */
  async stopSession(tenant: string, id: SessionId): Promise<void> {
    await stopSession(this.#parts, { tenant, id, rest: this.#parts.rest });
  }

  /**
   * Removes a session with its box and its workspace; waits for a creation in flight.
   * @throws ServiceError `session.not_found`; `box.conflict` while a run holds it, unless forced
   */
  async removeSession(
    tenant: string,
    id: SessionId,
    options: CallOptions & { readonly force?: boolean | undefined },
  ): Promise<void> {
    await removeSession(this.#parts, { tenant, id, force: options.force ?? false }, options);
  }

  /** Stops the loops and ends the leases; boxes and workspaces stay and are found again (box §11.10). */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new ServiceError("service.stopping", "The service is stopping."));
    await using _ending = new CleanupStack([
      () => this.#parts.upkeep[Symbol.asyncDispose](),
      () => this.#parts.engine[Symbol.asyncDispose](),
      ...this.#parts.leases,
    ]);
  }

  async #engineState(options: CallOptions): Promise<EngineState | "disabled"> {
    return this.#settings.enabled ? this.#parts.engine.current(options) : "disabled";
  }
}
