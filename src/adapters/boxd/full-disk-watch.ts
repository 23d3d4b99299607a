/**
 * Looks whether a workspace that the kernel bounds is full while commands run (box §10.5). Writing fails by itself there;
 * a command that filled it and still goes on after some seconds is stopped, because it would fail until its time is up.
 * A look costs the box nothing.
 */
import type { DiskUse } from "../../domain/exec-outcome.js";
import { delay } from "../../lib/delay.js";
import type { HelperGround } from "../../ports/box-helper.js";
import type { VolumeUse } from "../../ports/quota-volumes.js";
import { GROWTH_BYTES, type QuotaGuard, type Watched } from "./quota-watch.js";

export interface FullDiskWatchDeps {
  readonly look: NonNullable<HelperGround["disk"]>;
  readonly isHostFull?: (() => Promise<boolean>) | undefined;
  /** Milliseconds that never run backwards. */
  readonly elapsed: () => number;
}

const EVERY_MS = 500;
/** A command gets so long to see that writing fails, and to end by itself. */
const GRACE_MS = 3000;
const LOOK_MS = 5000;

interface Watching {
  /** A workspace that was full before is being cleaned up or looked at: that is no reason to stop anybody. */
  readonly mayFill: boolean;
  /** Since when it is full; null while it is not. */
  fullSince: number | null;
  /** What the workspace held at the first look; null before it. */
  firstBytes: number | null;
}

export class FullDiskWatch implements QuotaGuard {
  readonly #deps: FullDiskWatchDeps;
  readonly #watched = new Map<Watched, Watching>();
  /** Ends with the last command. */
  #stop: AbortController | null = null;

  constructor(deps: FullDiskWatchDeps) {
    this.#deps = deps;
  }

  /** @returns what a full workspace holds; null where there is room */
  async before(): Promise<DiskUse | null> {
    return this.after();
  }

  watch(command: Watched, before: DiskUse | null): void {
    this.#watched.set(command, { mayFill: before === null, fullSince: null, firstBytes: null });
    void command.gone.then(() => this.#forget(command));
    if (this.#stop !== null) return;
    this.#stop = new AbortController();
    void this.#repeat(this.#stop.signal);
  }

  async use(): Promise<DiskUse | null> {
    return this.#look();
  }

  async after(): Promise<DiskUse | null> {
    const use = await this.#look();
    return use?.isFull === true ? use : null;
  }

  #forget(command: Watched): void {
    this.#watched.delete(command);
    if (this.#watched.size > 0) return;
    this.#stop?.abort();
    this.#stop = null;
  }

  async #repeat(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await delay(EVERY_MS, { signal });
        this.#judge(await this.#look(), (await this.#deps.isHostFull?.()) ?? false);
      }
    } catch {
      // The last command has ended.
    }
  }

  #judge(use: VolumeUse | null, isHostFull: boolean): void {
    if (use === null) return;
    const now = this.#deps.elapsed();
    for (const [command, watching] of this.#watched) {
      watching.firstBytes ??= use.sizeBytes;
      watching.fullSince = use.isFull ? (watching.fullSince ?? now) : null;
      if (isHostFull && use.sizeBytes > watching.firstBytes + GROWTH_BYTES)
        command.strike({ ...use, isHostFull });
      else if (hasFilled(watching, now)) command.strike(use);
    }
  }

  /** A host that cannot tell is no reason to stop or to delay anybody. */
  async #look(): Promise<VolumeUse | null> {
    try {
      return await this.#deps.look({ signal: AbortSignal.timeout(LOOK_MS) });
    } catch {
      return null;
    }
  }
}

function hasFilled({ mayFill, fullSince }: Watching, now: number): boolean {
  return mayFill && fullSince !== null && now - fullSince >= GRACE_MS;
}
