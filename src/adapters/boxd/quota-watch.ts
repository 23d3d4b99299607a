/**
 * Watches what a workspace holds while commands run, where no kernel does it (box §10.5): the more often, the less room is
 * left, and never for more than a tenth of the time. A workspace that was full before may be cleaned up; only what grows
 * above the limit is stopped.
 */
import { type DiskUse, MAX_ENTRIES } from "../../domain/exec-outcome.js";
import { delay, endsWithin } from "../../lib/delay.js";

/** When the host is full, a command that wrote more than this is stopped. */
export const GROWTH_BYTES = 1024 * 1024;

/** A command that is stopped when the workspace grows above its limit. */
export interface Watched {
  /** Resolves when nothing of it is left. */
  readonly gone: Promise<void>;
  strike(use: DiskUse): void;
}

/** Keeps a workspace within its limits while commands run, or says that they are reached. */
export interface QuotaGuard {
  /** What the workspace holds before a command, where that matters. Never rejects. */
  before(): Promise<DiskUse | null>;
  /** Until the command and what it left are gone. @param before what `before` said */
  watch(command: Watched, before: DiskUse | null): void;
  /** What the workspace holds; null where that is not known in time. Never rejects. */
  use(): Promise<DiskUse | null>;
  /** @returns what a workspace holds that is full when a command has ended; null for all others. Never rejects */
  after(): Promise<DiskUse | null>;
}

export interface QuotaWatchDeps {
  /** MiB; 0 = no quota. */
  readonly quotaMib: number;
  /** `MAX_ENTRIES` if not given. */
  readonly maxEntries?: number | undefined;
  readonly isHostFull?: (() => Promise<boolean>) | undefined;
  readonly measure: () => Promise<DiskUse>;
  /** Milliseconds that never run backwards. */
  readonly elapsed: () => number;
}

const MIB = 1024 * 1024;
/** Commands that end before are not measured one by one. */
const FIRST_MS = 100;
const LONGEST_MS = 2000;
/** No command waits longer for its start. */
const BEFORE_MS = 1000;
/** What a fast writer writes in one millisecond. */
const BYTES_PER_MS = (400 * MIB) / 1000;
const WORK_SHARE = 10;
/** With less room than this, a command is measured before it starts. */
const NEAR_BYTES = 40 * MIB;
const NEAR_ENTRIES = 1000;

export class QuotaWatch implements QuotaGuard {
  readonly #deps: QuotaWatchDeps;
  /** With what the workspace may hold while it runs; null until it was measured. */
  readonly #watched = new Map<Watched, DiskUse | null>();
  /** Of commands that run while the host is full: what the workspace held at the first look. */
  readonly #firstBytes = new WeakMap<Watched, number>();
  #pauseMs = FIRST_MS;
  #last: DiskUse | null = null;
  #measuredAt = Number.NEGATIVE_INFINITY;
  /** Ends with the last command. */
  #stop: AbortController | null = null;

  constructor(deps: QuotaWatchDeps) {
    this.#deps = deps;
  }

  /**
   * What the workspace holds before a command, where that matters: nothing is known of it, or little room is left.
   * @returns null where there is room enough
   */
  async before(): Promise<DiskUse | null> {
    if (this.#deps.quotaMib === 0 || (this.#last !== null && !this.#isNear(this.#last))) return null;
    return this.use();
  }

  async use(): Promise<DiskUse | null> {
    // What cannot be measured now, or not in time, is measured while the command runs.
    const measured = this.#measure().catch(() => null);
    return (await endsWithin(measured, BEFORE_MS)) ? measured : null;
  }

  /** Until the command and what it left are gone. @param before what `before` said */
  watch(command: Watched, before: DiskUse | null): void {
    if (this.#deps.quotaMib === 0) return;
    this.#watched.set(command, before === null ? null : this.#largest(before));
    this.#pauseMs = FIRST_MS;
    void command.gone.then(() => this.#forget(command));
    if (this.#stop !== null) return;
    this.#stop = new AbortController();
    void this.#repeat(this.#stop.signal);
  }

  /** Whoever went above a limit was stopped for it, and nobody else is told. */
  async after(): Promise<DiskUse | null> {
    return null;
  }

  #forget(command: Watched): void {
    this.#watched.delete(command);
    if (this.#watched.size > 0) return;
    this.#stop?.abort();
    this.#stop = null;
    // Many short commands must not fill the workspace unseen.
    if (this.#deps.elapsed() - this.#measuredAt > LONGEST_MS) this.#measure().catch(() => undefined);
  }

  /** Never rejects: a lost helper ends all commands anyway. */
  async #repeat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await delay(this.#pauseMs, { signal });
        const begun = this.#deps.elapsed();
        const use = await this.#measure();
        const workMs = this.#deps.elapsed() - begun;
        this.#judge(use);
        if ((await this.#deps.isHostFull?.()) === true) this.#judgeGrowth(use);
        const room = Math.max(0, this.#quotaBytes - use.sizeBytes);
        const roomMs = Math.min(LONGEST_MS, Math.max(FIRST_MS, room / BYTES_PER_MS));
        this.#pauseMs = Math.max((WORK_SHARE - 1) * workMs, roomMs);
      } catch {
        this.#pauseMs = LONGEST_MS;
      }
    }
  }

  async #measure(): Promise<DiskUse> {
    this.#measuredAt = this.#deps.elapsed();
    this.#last = await this.#deps.measure();
    return this.#last;
  }

  #judge(use: DiskUse): void {
    for (const [command, limit] of this.#watched)
      if (limit === null) this.#watched.set(command, this.#largest(use));
      else if (use.sizeBytes > limit.sizeBytes || use.entries > limit.entries) command.strike(use);
  }

  /** The disk of the host is down to its reserve: whoever writes is stopped, whatever the quota leaves. */
  #judgeGrowth(use: DiskUse): void {
    for (const command of this.#watched.keys()) {
      const first = this.#firstBytes.get(command) ?? use.sizeBytes;
      this.#firstBytes.set(command, first);
      if (use.sizeBytes > first + GROWTH_BYTES) command.strike({ ...use, isHostFull: true });
    }
  }

  #isNear({ sizeBytes, entries }: DiskUse): boolean {
    return sizeBytes > this.#quotaBytes - NEAR_BYTES || entries > this.#maxEntries - NEAR_ENTRIES;
  }

  #largest({ sizeBytes, entries }: DiskUse): DiskUse {
    return {
      sizeBytes: Math.max(sizeBytes, this.#quotaBytes),
      entries: Math.max(entries, this.#maxEntries),
    };
  }

  get #quotaBytes(): number {
    return this.#deps.quotaMib * MIB;
  }

  get #maxEntries(): number {
    return this.#deps.maxEntries ?? MAX_ENTRIES;
  }
}
