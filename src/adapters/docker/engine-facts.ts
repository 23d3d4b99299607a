/** What an engine really enforces, as far as it tells (box §10, security §4). Pure. */
import type { EngineFacts } from "../../ports/box-backend.js";
import type { EngineInfo, EngineVersion } from "./engine-views.js";
import { type QuotaOutcome, WATCHED } from "./quota-probe.js";

/** Holds on every engine, because we ask for it in every container and the kernel does it. */
const ALWAYS = [
  "non-root-uids",
  "no-capabilities",
  "no-new-privileges",
  "read-only-root",
  "network-none",
  "private-ipc",
] as const;

/** Optional security modules, by the engine's word for them. */
const MODULES: ReadonlyMap<string, string> = new Map([
  ["seccomp", "seccomp"],
  ["apparmor", "apparmor"],
  ["selinux", "selinux"],
  ["userns", "user-namespace"],
  ["rootless", "rootless"],
]);

export function describeEngine(
  name: string,
  of: { readonly info: EngineInfo; readonly version: EngineVersion; readonly quota?: QuotaOutcome },
): Omit<EngineFacts, "transport"> {
  const { info, version, quota = WATCHED } = of;
  const modules = new Set(info.SecurityOptions.map(readModule));
  const limits = [
    { name: "memory-limit", isOn: info.MemoryLimit && info.SwapLimit },
    { name: "pids-limit", isOn: info.PidsLimit },
    { name: "cpu-limit", isOn: info.CpuCfsQuota },
  ];
  const enforced = [...MODULES].filter(([word]) => modules.has(word)).map(([, ours]) => ours);
  return {
    name,
    version: info.ServerVersion,
    isolation: [...ALWAYS, ...enforced, ...limits.filter(({ isOn }) => isOn).map((limit) => limit.name)],
    quota: quota.kind,
    warnings: [
      ...(modules.has("seccomp") ? [] : ["The engine does not filter system calls (no seccomp)."]),
      ...limits.filter(({ isOn }) => !isOn).map((limit) => `The engine does not enforce the ${limit.name}.`),
      ...quota.warnings,
      ...runtimeWarnings(version),
    ],
  };
}

/** `name=seccomp,profile=default` → `seccomp`. */
export function readModule(option: string): string {
  const [first = ""] = option.split(",");
  return first.replace(/^name=/u, "");
}

function runtimeWarnings(version: EngineVersion): string[] {
  const runc = version.Components.find((component) => component.Name === "runc");
  if (runc === undefined || hasRaceFixes(runc.Version)) return [];
  return [
    `The container runtime runc ${runc.Version} is older than 1.2.8 and lacks fixes of late 2025 (CVE-2025-31133, -52565, -52881).`,
  ];
}

/** Fixed in 1.2.8 and 1.3.3. A version that cannot be read counts as fixed: a warning must be true. */
export function hasRaceFixes(version: string): boolean {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/u.exec(version);
  if (match === null) return true;
  const [major = 0, minor = 0, patch = 0] = match.slice(1).map(Number);
  if (major !== 1) return major > 1;
  if (minor === 2) return patch >= 8;
  return minor === 3 ? patch >= 3 : minor > 3;
}
