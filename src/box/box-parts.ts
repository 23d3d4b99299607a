/** What the box service consists of, each part made once and given what it needs of the others. */
import type { BoxSettings } from "../domain/box.js";
import type { SessionId } from "../domain/ids.js";
import { KeyedLock } from "../lib/keyed-lock.js";
import type { BoxBackend } from "../ports/box-backend.js";
import type { Clock } from "../ports/clock.js";
import type { IdSource } from "../ports/id-source.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";
import type { SessionStore } from "../ports/session-store.js";
import type { BindDeps } from "./bind-box.js";
import { BoxOpener } from "./box-opener.js";
import { EngineWatch } from "./engine-watch.js";
import { makeIdleSchedule } from "./idle-tiers.js";
import { OpenBoxes } from "./open-boxes.js";
import { RecentErrors } from "./recent-errors.js";
import { restBox } from "./rest-box.js";
import type { TenantGrants } from "./tenant-grants.js";
import { Upkeep } from "./upkeep.js";
import { WarmPool } from "./warm-pool.js";

export interface BoxServiceDeps {
  readonly backend: BoxBackend;
  readonly sessions: SessionStore;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: Logger;
  /** Absent = every tenant may use boxes. */
  readonly grants?: Pick<TenantGrants, "admit" | "findFault"> | undefined;
}

export interface BoxServiceSettings {
  readonly enabled: boolean;
  /** Of every box, unless a bind says otherwise. */
  readonly settings: BoxSettings;
  /** Name of the profile the settings come from; it is only shown. */
  readonly profile: string;
  readonly maxBoxes: number;
  /** The one reuse key that may be used; null or absent = any (box §2.7). */
  readonly requiredReuseKey?: string | null | undefined;
  /** Images that an acquire may name besides that of `settings` (box §4.1). */
  readonly allowedImages?: readonly string[] | undefined;
  /** Idle seconds after which a box is paused; ≤ 0 = never. */
  readonly pauseAfterSec: number;
  /** Idle seconds after which a box is stopped; ≤ 0 = boxes are never rested for being idle. */
  readonly idleTtlSec: number;
  /** Idle seconds after which the container of a box goes, not before it is to be stopped. */
  readonly removeAfterSec: number;
  /** Boxes that are kept ready for new sessions. */
  readonly warmPool: number;
  /** 0 = workspaces are kept for ever. */
  readonly workspaceTtlDays: number;
}

export interface BoxParts extends BindDeps {
  readonly grants?: BoxServiceDeps["grants"];
  readonly backend: BoxBackend;
  readonly errors: RecentErrors;
  readonly engine: EngineWatch;
  readonly pool: WarmPool;
  readonly upkeep: Upkeep;
}

/** @param of `signal` ends with the service; `isWanted`: whether somebody waits for a box */
export function makeBoxParts(
  deps: BoxServiceDeps,
  settings: BoxServiceSettings,
  of: CallOptions & { readonly isWanted: () => boolean },
): BoxParts {
  const { clock } = deps;
  const { signal, isWanted } = of;
  const shared = {
    ...deps,
    boxes: new OpenBoxes({ clock, maxBoxes: settings.maxBoxes }),
    locks: new KeyedLock<SessionId>(),
    creations: new KeyedLock<"session">(),
    leases: new Set<() => Promise<void>>(),
    errors: new RecentErrors(clock),
  };
  const engine = new EngineWatch({ ...shared, settings: settings.settings });
  const rest = (id: SessionId): Promise<void> => restBox(shared, id, { signal });
  const opener = new BoxOpener({ ...shared, rest });
  const isBusy = (): boolean => isWanted() || !engine.isAvailable;
  const pool = new WarmPool(
    { ...shared, rest, opener, isBusy },
    { size: settings.warmPool, settings: settings.settings },
  );
  const schedule = makeIdleSchedule(settings);
  const upkeep = new Upkeep({ ...shared, engine, pool }, { ...settings, schedule });
  return { ...shared, rest, opener, engine, pool, upkeep };
}
