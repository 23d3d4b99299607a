/** Effective settings of boxes: profile, then the operator's settings, then what the profile locks (box §10.2). */
import { createHash } from "node:crypto";
import type { BoxSettings } from "../domain/box.js";
import { ServiceError } from "../domain/errors.js";

/** Settings as a profile gives them; here a network can be asked for. */
export type BoxPolicy = Omit<BoxSettings, "network"> & { readonly network: "on" | "off" };

type Said<Value> = Value | null | undefined;

/** What the operator said; null or absent = the profile's. */
export interface OperatorSettings {
  readonly image: string;
  readonly network?: Said<BoxPolicy["network"]>;
  readonly workspaceMode?: Said<BoxPolicy["workspaceMode"]>;
  readonly cpus?: Said<number>;
  readonly memoryMb?: Said<number>;
  readonly pidsLimit?: Said<number>;
  readonly readOnlyRootfs?: Said<boolean>;
  /** Replaces the profile's quota; 0 = none. */
  readonly workspaceQuotaMb?: Said<number>;
  readonly execTimeoutSec?: Said<number | string>;
  readonly runtime?: Said<string>;
  readonly extraMounts?: Said<BoxSettings["extraMounts"]>;
  readonly env?: Said<BoxSettings["env"]>;
}

/** No profile says anything of these. */
type OwnField = "image" | "runtime" | "extraMounts" | "env";
type LockableField = Exclude<keyof OperatorSettings, OwnField | "execTimeoutSec">;

interface Profile {
  readonly values: Omit<BoxPolicy, OwnField>;
  readonly locked: readonly LockableField[];
}

const BASE: Profile["values"] = {
  network: "off",
  workspaceMode: "rw",
  cpus: 1,
  memoryMb: 512,
  pidsLimit: 128,
  readOnlyRootfs: true,
  execTimeoutSec: 30,
  execMaxTimeoutSec: 120,
  workspaceQuotaMb: 1024,
};

const PROFILES: Readonly<Record<string, Profile>> = {
  default: { values: BASE, locked: [] },
  offline_readonly: {
    values: {
      ...BASE,
      workspaceMode: "ro",
      cpus: 0.5,
      memoryMb: 256,
      pidsLimit: 64,
      execMaxTimeoutSec: 60,
      workspaceQuotaMb: 0,
    },
    locked: ["network", "workspaceMode", "readOnlyRootfs"],
  },
  network_basic: { values: { ...BASE, network: "on" }, locked: [] },
  network_extended: {
    values: {
      ...BASE,
      network: "on",
      cpus: 2,
      memoryMb: 1024,
      pidsLimit: 256,
      readOnlyRootfs: false,
      execMaxTimeoutSec: 300,
      workspaceQuotaMb: 2048,
    },
    locked: [],
  },
};

/** @throws ServiceError `box.validation` for an unknown profile, naming those there are */
export function resolveBoxPolicy(profileName: string, operator: OperatorSettings): BoxPolicy {
  const profile = Object.hasOwn(PROFILES, profileName) ? PROFILES[profileName] : undefined;
  if (profile === undefined)
    throw new ServiceError("box.validation", `There is no box profile "${profileName}".`, {
      hint: `Use one of ${Object.keys(PROFILES).join(", ")}.`,
      param: "boxes.profile",
    });
  const { values, locked } = profile;
  const choose = <Value>(name: LockableField, said: Said<Value>, own: Value): Value =>
    locked.includes(name) ? own : (said ?? own);
  return {
    image: operator.image,
    network: choose("network", operator.network, values.network),
    workspaceMode: choose("workspaceMode", operator.workspaceMode, values.workspaceMode),
    cpus: choose("cpus", operator.cpus, values.cpus),
    memoryMb: choose("memoryMb", operator.memoryMb, values.memoryMb),
    pidsLimit: choose("pidsLimit", operator.pidsLimit, values.pidsLimit),
    readOnlyRootfs: choose("readOnlyRootfs", operator.readOnlyRootfs, values.readOnlyRootfs),
    workspaceQuotaMb: choose("workspaceQuotaMb", operator.workspaceQuotaMb, values.workspaceQuotaMb),
    execTimeoutSec: clampTimeoutSec(operator.execTimeoutSec, values),
    execMaxTimeoutSec: values.execMaxTimeoutSec,
    runtime: operator.runtime ?? null,
    extraMounts: operator.extraMounts ?? [],
    env: operator.env ?? {},
  };
}

/**
 * The settings boxes are made with.
 * @throws ServiceError `box.validation` for an unknown profile
 */
export function resolveBoxSettings(profileName: string, operator: OperatorSettings): BoxSettings {
  const policy = resolveBoxPolicy(profileName, operator);
  return { ...policy, network: policy.network === "on" ? "broker" : "none" };
}

/**
 * Seconds a command may take. Text that is a number counts as one; what is no positive number becomes the default, what
 * is above the maximum becomes the maximum.
 */
export function clampTimeoutSec(
  requested: unknown,
  limits: Pick<BoxSettings, "execTimeoutSec" | "execMaxTimeoutSec">,
): number {
  const isNumeral = typeof requested === "string" && /^\s*\d+(?:\.\d+)?\s*$/.test(requested);
  const seconds = isNumeral ? Number(requested) : requested;
  const wanted = typeof seconds === "number" && seconds > 0 ? seconds : limits.execTimeoutSec;
  return Math.min(wanted, limits.execMaxTimeoutSec);
}

/** What a container is made with; timeouts and variables belong to each command (box §11.7). */
const CONTAINER_FIELDS = [
  "image",
  "network",
  "cpus",
  "memoryMb",
  "pidsLimit",
  "readOnlyRootfs",
  "workspaceMode",
  "workspaceQuotaMb",
  "runtime",
  "extraMounts",
] as const satisfies readonly (keyof BoxSettings)[];

/** sha256 hex over the settings that would make another container. */
export function settingsFingerprint(settings: BoxSettings): string {
  const values = CONTAINER_FIELDS.map((name) => [name, settings[name]]);
  return createHash("sha256").update(JSON.stringify(values)).digest("hex");
}

/** Names of the fields for which a box would have to be made anew. */
export function findSettingsChanges(one: BoxSettings, other: BoxSettings): readonly string[] {
  return CONTAINER_FIELDS.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]));
}
