/** Boxes that run before anybody needs them: empty, of nobody, each given to one new session with all it has (box §11.1). */
import type { BoxSettings } from "../domain/box.js";
import type { SessionId } from "../domain/ids.js";
import { POOL_TENANT, type SessionRecord } from "../domain/session.js";
import type { KeyedLock } from "../lib/keyed-lock.js";
import type { CallOptions } from "../ports/options.js";
import type { BoxOpener, OpenerDeps } from "./box-opener.js";
import { settingsFingerprint } from "./box-policy.js";
import { makeSession, type RecordDeps, type SessionOf } from "./find-session.js";
import type { RecentErrors } from "./recent-errors.js";
import { placeOf } from "./session-place.js";

export interface WarmPoolDeps extends OpenerDeps, RecordDeps {
  readonly backend: OpenerDeps["backend"];
  readonly opener: Pick<BoxOpener, "open">;
  readonly locks: KeyedLock<SessionId>;
  readonly errors: Pick<RecentErrors, "add">;
  /** Whether somebody waits for a box, or the engine cannot make one: then no spare one is made. */
  readonly isBusy: () => boolean;
}

export interface WarmPoolSettings {
  /** How many boxes are kept ready. */
  readonly size: number;
  readonly settings: BoxSettings;
}

const CHECK_EVERY_MS = 30_000;
const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 300_000;
const MAX_LISTED = 1000;
/** As many as a sha256 has. */
const IDENTITY_DIGITS = 64;

export class WarmPool {
  readonly #deps: WarmPoolDeps;
  readonly #settings: WarmPoolSettings;
  readonly #ready = new Set<SessionId>();
  /** Entries on their way to a session. */
  readonly #giving = new Set<SessionId>();
  #checkAt = 0;
  #makeAt = 0;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(deps: WarmPoolDeps, settings: WarmPoolSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  /** Spare boxes that wait for a session. */
  get readyCount(): number {
    return this.#ready.size;
  }

  /** The caller makes no other session at the same time. @returns null when no spare box is there */
  async give({ tenant, key }: SessionOf): Promise<SessionRecord | null> {
    const { sessions, boxes, clock } = this.#deps;
    const id = [...this.#ready].find((each) => boxes.isFree(each));
    if (id === undefined) return null;
    this.#ready.delete(id);
    this.#giving.add(id);
    try {
      const now = clock.now();
      const by = { tenant, identity: key.identity, key: key.key, createdAt: now, lastUsedAt: now };
      const record = await sessions.adopt(id, by);
      if (record?.id === id) boxes.entrust(id, tenant);
      // The key has a session already.
      else if (record !== null) this.#ready.add(id);
      return record;
    } finally {
      this.#giving.delete(id);
    }
  }

  /** One round: what is no good goes, and one box is made where one is missing. Rounds do not overlap. */
  async tend(options: CallOptions): Promise<void> {
    const { boxes, clock, isBusy } = this.#deps;
    if (isBusy()) return;
    if (clock.elapsed() >= this.#checkAt) {
      this.#checkAt = clock.elapsed() + CHECK_EVERY_MS;
      await this.#check(options);
    }
    if (this.#ready.size >= this.#settings.size || boxes.isFull || clock.elapsed() < this.#makeAt) return;
    try {
      await this.#make(options);
      this.#pauseMs = FIRST_PAUSE_MS;
    } catch (error) {
      this.#note("No spare box could be made; it is tried again after a pause.", error, options);
      this.#makeAt = clock.elapsed() + this.#pauseMs;
      this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
      // What it left is no entry of ours, and the check removes it.
      this.#checkAt = 0;
    }
  }

  /** Entries of the process before are taken over where they are as good as new ones. */
  async #check(options: CallOptions): Promise<void> {
    const page = { limit: MAX_LISTED, after: null };
    for (const record of await this.#deps.sessions.list(POOL_TENANT, page))
      try {
        const isWanted = this.#ready.has(record.id) || this.#ready.size < this.#settings.size;
        if (isWanted && (await this.#takeOver(record, options))) continue;
        this.#ready.delete(record.id);
        await this.#discard(record, options);
      } catch (error) {
        this.#note("A spare box could not be looked after; it is met again.", error, options);
      }
  }

  /** @returns whether the entry can be given to a session, or has been given to one */
  async #takeOver(record: SessionRecord, options: CallOptions): Promise<boolean> {
    const { backend, boxes } = this.#deps;
    const { settings } = this.#settings;
    const { id, container } = record;
    if (this.#giving.has(id)) return true;
    if (container === null || boxes.get(id) === null || record.settings !== settingsFingerprint(settings))
      return false;
    if (!(await backend.isCurrent(placeOf({ ...record, container }), settings, options))) return false;
    if (!this.#ready.has(id)) await this.#warmUp(record, options);
    return true;
  }

  async #discard({ id }: SessionRecord, options: CallOptions): Promise<void> {
    const { backend, sessions, boxes, locks, logger } = this.#deps;
    using _turn = await locks.acquire(id, options);
    await boxes.settled(id);
    const record = this.#giving.has(id) ? null : await sessions.get(POOL_TENANT, id);
    if (record === null) return;
    if (record.container !== null) await backend.removeContainer(record.container, options);
    await backend.removeWorkspace(record.volume, options);
    await sessions.remove(id);
    boxes.forget(id);
    logger.info({ sessionId: id }, "A spare box was removed.");
  }

  /** The record comes first, so that a crash leaves nothing unowned (box §18.5). */
  async #make(options: CallOptions): Promise<void> {
    const key = { key: "", identity: this.#deps.ids.randomHex(IDENTITY_DIGITS) };
    const record = await makeSession(this.#deps, { tenant: POOL_TENANT, key }, options);
    await this.#warmUp(record, options);
  }

  /** Makes the box of an entry run, with its helper at work. */
  async #warmUp({ id }: SessionRecord, options: CallOptions): Promise<void> {
    const { sessions, boxes, backend, opener, locks } = this.#deps;
    {
      using _hold = boxes.hold(id);
      using _turn = await locks.acquire(id, options);
      const record = await sessions.get(POOL_TENANT, id);
      // A spare box makes nobody else's go.
      if (record === null || this.#giving.has(id) || (boxes.get(id) === null && boxes.isFull)) return;
      const { place } = await opener.open(record, this.#settings.settings, options);
      await using _helper = await backend.open(place, options);
    }
    this.#ready.add(id);
  }

  /** @throws the signal's reason when that was the cause */
  #note(message: string, error: unknown, { signal }: CallOptions): void {
    signal.throwIfAborted();
    this.#deps.errors.add(error, null);
    this.#deps.logger.warn({ engine: this.#deps.backend.engine }, message, error);
  }
}
