/** Compares what a probe saw in a box with what the box was made with: one control after the other (security §4). Pure. */
import type { BoxSettings } from "../../domain/box.js";
import type { BoxControl, ControlName, ControlState } from "../../domain/box-control.js";
import { sharedMemoryBytes } from "./box-body.js";
import { fileSizeLimitBytes, HOLDER_UID, OPEN_FILES } from "./container-body.js";
import type { ProbeReport } from "./probe-report.js";

export interface ProbeGround {
  readonly settings: BoxSettings;
  /** Uid that commands of the box were to have. */
  readonly uid: number;
  /** Security modules that the engine says it uses, in its own words. */
  readonly modules: ReadonlySet<string>;
}

const MIB = 1024 * 1024;
/** What a file system of a workspace has beyond its quota: a share for itself, and what the kernel keeps back of it. */
const QUOTA_SLACK = 1.02;
const QUOTA_SLACK_MIB = 32;
const CPU_SLACK = 0.02;
/** How the kernel says no; another answer means that it looked at the arguments. */
const REFUSALS = new Set(["EPERM", "EACCES", "ENOSYS", "EAFNOSUPPORT", "EROFS"]);
/** What a service has around it and an image has not: its own settings, its model's, its engine's, its package tool's. */
const FOREIGN_VARIABLES = /^(?:BERTH|OPENAI|npm)_|^DOCKER_HOST$|_API_KEY$/u;

type Verdict = Omit<BoxControl, "name">;
type Judge = (report: ProbeReport, ground: ProbeGround) => Verdict | null;

/** A control that these settings do not ask for has no entry. */
export function judgeProbe(report: ProbeReport, ground: ProbeGround): readonly BoxControl[] {
  return JUDGES.flatMap(([name, judge]): BoxControl[] => {
    const verdict = judge(report, ground);
    return verdict === null ? [] : [{ name, ...verdict }];
  });
}

/** Of a box that no probe could be started in. */
export function unknownControls(detail: string): readonly BoxControl[] {
  return JUDGES.map(([name]) => ({ name, state: "unknown", detail }));
}

const JUDGES: readonly (readonly [ControlName, Judge])[] = [
  ["non-root-uids", judgeUids],
  [
    "no-capabilities",
    ({ capabilities }) => check(/^0+$/u.test(capabilities), `capabilities ${capabilities}`),
  ],
  [
    "no-new-privileges",
    ({ no_new_privileges: flag }) => check(flag === 1, `no_new_privs is ${flag}`, flag === -1),
  ],
  ["seccomp", ({ seccomp: mode }) => check(mode === 2, `seccomp mode ${mode}`, mode === -1)],
  ["refused-calls", judgeCalls],
  ["network-none", judgeInterfaces],
  [
    "read-only-root",
    ({ root_read_only: isReadOnly }, { settings }) =>
      settings.readOnlyRootfs ? check(isReadOnly, isReadOnly ? "read-only" : "writable") : null,
  ],
  [
    "kernel-settings-read-only",
    ({ kernel_settings_read_only: isReadOnly }) =>
      check(isReadOnly, `/proc/sys is ${isReadOnly ? "read-only" : "writable"}`),
  ],
  [
    "private-ipc",
    ({ shared_memory: bytes }, { settings }) =>
      compare("bytes of shared memory", bytes, sharedMemoryBytes(settings)),
  ],
  [
    "private-cgroup",
    ({ cgroup }) => check(cgroup.private, cgroup.private ? "a namespace of its own" : "the host's namespace"),
  ],
  ["no-devices", ({ devices }) => check(devices.length === 0, listOr(devices, "only the usual ones"))],
  [
    "no-engine-socket",
    ({ engine_sockets: sockets }) => check(sockets.length === 0, listOr(sockets, "none is there")),
  ],
  ["clean-environment", judgeEnvironment],
  [
    "closed-first-process",
    ({ calls }) => refusal(calls.first_process, `opening its files: ${calls.first_process}`),
  ],
  [
    "init-reaps",
    ({ reaped }) =>
      check(reaped === true, reaped === true ? "ended processes are taken" : "zombies stay", reaped === null),
  ],
  [
    "workspace-mode",
    ({ workspace }, { settings }) =>
      check(
        workspace.read_only === (settings.workspaceMode === "ro"),
        `it is ${workspace.read_only ? "read-only" : "writable"}`,
      ),
  ],
  ["workspace-quota", judgeQuota],
  ["file-size-limit", judgeFileSize],
  ["open-file-limit", ({ limits }) => compare("open files", limits.open_files, OPEN_FILES)],
  ["memory-limit", judgeMemory],
  ["pids-limit", ({ cgroup }, { settings }) => compare("processes", cgroup.pids, settings.pidsLimit)],
  ["cpu-limit", judgeCpus],
  ["apparmor", judgeAppArmor],
  ["selinux", judgeSelinux],
];

function judgeUids({ first_uid: first, uid, gid }: ProbeReport, ground: ProbeGround): Verdict {
  const isRight = first === HOLDER_UID && uid === ground.uid && gid === ground.uid;
  return check(
    isRight,
    `first process ${first}, commands ${uid}:${gid}`,
    first === -1 && uid === ground.uid && gid === ground.uid,
  );
}

function judgeCalls({ calls }: ProbeReport): Verdict {
  const { io_uring_setup, vsock, ptrace, mount, unshare } = calls;
  const tried = Object.entries({ io_uring_setup, vsock, ptrace, mount, unshare });
  const open = tried.filter(([, said]) => !REFUSALS.has(said));
  const untried = open.filter(([, said]) => said === "unknown");
  const detail = listOr(
    open.map(([name, said]) => `${name}: ${said}`),
    "all are refused",
  );
  return check(open.length === 0, detail, open.length > 0 && untried.length === open.length);
}

function judgeInterfaces({ interfaces }: ProbeReport): Verdict {
  const isUnknown = interfaces.length === 0 || interfaces.includes("unknown");
  return check(
    interfaces.every((name) => name === "lo"),
    `interfaces ${interfaces.join(", ")}`,
    isUnknown,
  );
}

function judgeEnvironment({ env }: ProbeReport, { settings }: ProbeGround): Verdict {
  const foreign = env.filter((name) => FOREIGN_VARIABLES.test(name) && !Object.hasOwn(settings.env, name));
  return check(foreign.length === 0, listOr(foreign, "nothing of the service"));
}

function judgeQuota({ workspace }: ProbeReport, { settings }: ProbeGround): Verdict | null {
  const { workspaceQuotaMb: quotaMib } = settings;
  if (quotaMib === 0) return null;
  const mib = Math.round(workspace.bytes / MIB);
  const isBounded = workspace.apart && workspace.bytes > 0 && mib <= quotaMib * QUOTA_SLACK + QUOTA_SLACK_MIB;
  const where = workspace.apart ? `a file system of ${mib} MiB` : "on the root's file system";
  return check(isBounded, isBounded ? where : `${where}, wanted ${quotaMib} MiB`, workspace.bytes === 0);
}

function judgeFileSize({ limits, calls }: ProbeReport, { settings }: ProbeGround): Verdict {
  const verdict = compare("bytes of a file", limits.file_bytes, fileSizeLimitBytes(settings));
  if (verdict.state !== "enforced" || calls.large_file === "EFBIG") return verdict;
  return check(false, `a larger file: ${calls.large_file}`, calls.large_file === "unknown");
}

function judgeMemory({ cgroup }: ProbeReport, { settings }: ProbeGround): Verdict {
  const wanted = settings.memoryMb * MIB;
  const memory = compare("bytes of memory", cgroup.memory, wanted);
  return memory.state === "enforced" ? compare("bytes with swap", cgroup.memory_and_swap, wanted) : memory;
}

function judgeCpus({ cgroup }: ProbeReport, { settings }: ProbeGround): Verdict {
  const { cpu_quota: quota, cpu_period: period } = cgroup;
  if (period <= 0) return check(false, "its setting cannot be read", true);
  const cpus = quota / period;
  const isRight = quota > 0 && Math.abs(cpus - settings.cpus) <= CPU_SLACK * settings.cpus;
  const seen = quota > 0 && cpus < 1e6 ? `${cpus.toFixed(2)} CPUs` : "no limit";
  return check(isRight, isRight ? seen : `${seen}, wanted ${settings.cpus}`);
}

/** The engine takes the option everywhere; without the module in the kernel nothing comes of it. */
function judgeAppArmor({ security_label: label }: ProbeReport, { modules }: ProbeGround): Verdict | null {
  if (modules.has("selinux")) return null;
  if (!modules.has("apparmor")) return check(false, "the engine's host has none in use");
  return check(label.endsWith("(enforce)"), label === "" ? "no profile" : `profile ${label}`);
}

function judgeSelinux({ security_label: label }: ProbeReport, { modules }: ProbeGround): Verdict | null {
  if (!modules.has("selinux")) return null;
  return check(label.split(":").length > 3, label === "" ? "no label" : `label ${label}`);
}

function refusal(said: string, detail: string): Verdict {
  return check(REFUSALS.has(said), detail, said === "unknown");
}

function compare(unit: string, seen: number, wanted: number): Verdict {
  const isRight = seen === wanted;
  const shown = seen >= Number.MAX_SAFE_INTEGER ? "no limit of" : String(seen);
  return check(isRight, isRight ? `${seen} ${unit}` : `${shown} ${unit}, wanted ${wanted}`, seen === -1);
}

/** @param isUnknown counts only where the control does not hold */
function check(isEnforced: boolean, detail: string, isUnknown = false): Verdict {
  const missing: ControlState = isUnknown ? "unknown" : "ignored";
  return { state: isEnforced ? "enforced" : missing, detail };
}

function listOr(found: readonly string[], otherwise: string): string {
  return found.length === 0 ? otherwise : found.join(", ");
}
