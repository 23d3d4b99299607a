/** A session's box as it is shown: in which state, with which limits, how busy (box §3.4). */
import type { BoxSettings, BoxState } from "../domain/box.js";
import type { SessionRecord } from "../domain/session.js";
import type { ContainerState } from "../ports/box-backend.js";
import { settingsFingerprint } from "./box-policy.js";
import type { OpenBox } from "./open-boxes.js";

export interface BoxLimits {
  readonly cpus: number;
  readonly memory_mb: number;
  readonly pids_limit: number;
  /** 0 = none. */
  readonly workspace_quota_mb: number;
  readonly read_only_rootfs: boolean;
  readonly workspace_mode: BoxSettings["workspaceMode"];
  readonly exec_timeout_sec: number;
  readonly exec_max_timeout_sec: number;
}

export interface BoxEntry {
  readonly session_id: string;
  /** The rendered reuse key, a label. */
  readonly key: string;
  readonly state: BoxState;
  readonly engine: string;
  /** RFC 3339 UTC. */
  readonly created_at: string;
  readonly last_used_at: string;
  /** Jobs that run. */
  readonly jobs: number;
  readonly activity: {
    /** Runs, commands, file requests, jobs and terminals that hold the box at this moment. */
    readonly leases: number;
    /** Seconds since the last of them ended; null while one is there, and for a session without container. */
    readonly idle_sec: number | null;
  };
  /** Null where the container was made with settings that are not known any more. */
  readonly image: string | null;
  readonly network: BoxSettings["network"] | null;
  readonly profile: string;
  readonly limits: BoxLimits | null;
}

export interface BoxFacts {
  readonly open: OpenBox | null;
  readonly leases: number;
  readonly jobs: number;
  readonly idleMs: number | null;
  /** What the engine says of the recorded container; null = there is none, or the engine does not answer. */
  readonly container: ContainerState | null;
}

/** What boxes of this service are made with. */
export interface BoxDefaults {
  readonly settings: BoxSettings;
  readonly profile: string;
}

export function describeBox(record: SessionRecord, facts: BoxFacts, defaults: BoxDefaults): BoxEntry {
  const settings = findSettings(record, facts.open, defaults.settings);
  return {
    session_id: record.id,
    key: record.key,
    state: decideBoxState(record, facts),
    engine: record.engine,
    created_at: new Date(record.createdAt).toISOString(),
    last_used_at: new Date(record.lastUsedAt).toISOString(),
    jobs: facts.jobs,
    activity: {
      leases: facts.leases,
      idle_sec: facts.idleMs === null ? null : Math.round(facts.idleMs / 1000),
    },
    image: settings?.image ?? null,
    network: settings?.network ?? null,
    profile: defaults.profile,
    limits: settings === null ? null : describeLimits(settings),
  };
}

export function describeLimits(settings: BoxSettings): BoxLimits {
  return {
    cpus: settings.cpus,
    memory_mb: settings.memoryMb,
    pids_limit: settings.pidsLimit,
    workspace_quota_mb: settings.workspaceQuotaMb,
    read_only_rootfs: settings.readOnlyRootfs,
    workspace_mode: settings.workspaceMode,
    exec_timeout_sec: settings.execTimeoutSec,
    exec_max_timeout_sec: settings.execMaxTimeoutSec,
  };
}

/**
 * `none`: nothing is on the engine. `stopped`: the workspace is there and no process. `lost`: the recorded container is
 * not on the engine, or the engine does not answer.
 */
export function decideBoxState(
  record: Pick<SessionRecord, "container" | "prepared">,
  { open, container }: Pick<BoxFacts, "open" | "container">,
): BoxState {
  if (open !== null && (open.container === null || isReplaced(open, record))) return "starting";
  if (record.container === null) return record.prepared ? "stopped" : "none";
  if (container === null) return "lost";
  return container === "running" ? "ready" : container;
}

/** The record names a new container before it is made (box §18.5). */
function isReplaced(open: OpenBox, record: Pick<SessionRecord, "container">): boolean {
  return record.container !== null && record.container !== open.container;
}

/** Of a box that is to be made: the service's own. */
function findSettings(
  record: Pick<SessionRecord, "container" | "settings">,
  open: OpenBox | null,
  own: BoxSettings,
): BoxSettings | null {
  if (open !== null && open.settings !== null) return open.settings;
  if (record.container === null || record.settings === settingsFingerprint(own)) return own;
  return null;
}
