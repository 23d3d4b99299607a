/** Create bodies for the engine, built from typed values alone; nothing from outside is merged into them (security §3.2). */
import { createHash } from "node:crypto";
import {
  BOX_HOME,
  type BoxSettings,
  type ExtraMount,
  TOOL_RESULTS_DIR,
  WORKSPACE_ROOT,
} from "../../domain/box.js";
import { maxFileMib } from "../../domain/exec-outcome.js";
import type { BoxPlace } from "../../ports/box-backend.js";
import { LABEL, ownerLabels } from "./labels.js";
import { SOCKET_NAME, type SocketPlace } from "./socket-places.js";
import type { DialPlan } from "./socket-transport.js";

/** Owner of PID 1, so that the box user can neither write to its descriptors nor end it. */
export const HOLDER_UID = 20_000;
const HOLDER = `${HOLDER_UID}:${HOLDER_UID}`;
const ROOT = "0:0";
const IDLE = ["sleep", "infinity"];
/** Where the helper's volume is mounted; nothing of a box can write there. */
const HELPER_PLACE = "/opt/berth";
export const HELPER_PROGRAM = `${HELPER_PLACE}/boxd`;
/** Where the directory with the service's socket is mounted; nothing of a box can write there. */
const CHANNEL_PLACE = "/run/berth";
const MIB = 1024 * 1024;
const MAX_TMP_MIB = 64;
const MAX_SHM_MIB = 16;
/** Of one process. */
export const OPEN_FILES = 4096;

/** What the engine's create call takes, in its own words. */
export interface CreateBody {
  readonly Image: string;
  readonly User: string;
  readonly WorkingDir: string;
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Env: readonly string[];
  readonly Tty: boolean;
  readonly OpenStdin: boolean;
  readonly StopTimeout: number;
  readonly Hostname: string;
  readonly Healthcheck: { readonly Test: readonly string[] };
  readonly Labels: Readonly<Record<string, string>>;
  readonly HostConfig: object;
}

/** The volume that holds the helper's program. */
export interface HelperMount {
  readonly volume: string;
  /** Changes with the program. */
  readonly version: string;
}

export interface BoxBodyInput {
  readonly serviceId: string;
  readonly place: BoxPlace;
  readonly settings: BoxSettings;
  /** JSON text of the system-call profile. */
  readonly seccomp: string;
  /** A box without one is served by workers that the engine starts. */
  readonly helper?: HelperMount | null | undefined;
  /** Where its helper dials in; without one it is served over an exec stream. */
  readonly channel?: SocketPlace | null | undefined;
}

/** The body of a box, whose extra mounts have been looked up; its label `berth.settings` tells it apart from one made with other values. */
export function makeBoxBody({
  serviceId,
  place,
  settings,
  seccomp,
  helper = null,
  channel = null,
}: BoxBodyInput): CreateBody {
  const body = {
    ...processBody(settings.image, HOLDER, IDLE),
    HostConfig: {
      ...isolation(seccomp),
      ...runtimeOf(settings),
      Mounts: [
        workspaceMount(place.volume, settings.workspaceMode === "ro"),
        ...settings.extraMounts.map(extraMount),
      ],
      ReadonlyRootfs: settings.readOnlyRootfs,
      Tmpfs: makeTmpfs(settings),
      ShmSize: sharedMemoryBytes(settings),
      PidsLimit: settings.pidsLimit,
      Memory: settings.memoryMb * MIB,
      MemorySwap: settings.memoryMb * MIB,
      NanoCpus: Math.round(settings.cpus * 1e9),
      Ulimits: [...commonUlimits(), fileSizeLimit(settings)],
    },
  };
  const labels = {
    ...ownerLabels({ serviceId, sessionId: place.sessionId, tenant: place.tenant }),
    [LABEL.uid]: String(place.uid),
    [LABEL.quota]: String(settings.workspaceQuotaMb),
    ...(settings.network === "broker" ? { [LABEL.network]: settings.network } : {}),
    [LABEL.settings]: fingerprint([body, settings.workspaceQuotaMb, ...networkOf(settings)]),
  };
  if (helper === null) return { ...body, Labels: labels };
  // The fingerprint is about what was asked for; how the box is served may differ from one container to the next.
  const mounts = [...body.HostConfig.Mounts, helperMount(helper, true), ...channelMounts(channel)];
  return {
    ...body,
    Entrypoint: [HELPER_PROGRAM, "hold"],
    HostConfig: { ...body.HostConfig, Mounts: mounts },
    Labels: {
      ...labels,
      [LABEL.helper]: helper.version,
      ...(channel === null ? {} : { [LABEL.channel]: channel.name }),
    },
  };
}

export interface HelperBodyInput {
  readonly serviceId: string;
  readonly image: string;
  readonly helper: HelperMount;
  readonly seccomp: string;
  /** Where the program dials in to prove that it can; without one it only runs. */
  readonly dial?: DialPlan | null | undefined;
}

/** How the helper is told to dial in. */
export function dialCommand(options: readonly string[] = []): readonly string[] {
  return [HELPER_PROGRAM, "serve", ...options, "--dial", `${CHANNEL_PLACE}/${SOCKET_NAME}`];
}

/** What the helper shows the service, so that nobody else in the box is taken for it. */
export function dialEnvironment({ token }: DialPlan): readonly string[] {
  return [`BOXD_TOKEN=${token}`];
}

/**
 * The body of the short-lived container with which the engine fills the helper's volume from the image, as it does with
 * an empty one when it makes the container. It runs the program once from there: exit code 0 says that it can be used.
 */
export function makeHelperBody({
  serviceId,
  image,
  helper,
  seccomp,
  dial = null,
}: HelperBodyInput): CreateBody {
  const command = dial === null ? [HELPER_PROGRAM, "version"] : dialCommand(["--root", "/"]);
  return {
    ...processBody(image, HOLDER, command),
    Env: dial === null ? [] : dialEnvironment(dial),
    HostConfig: {
      ...isolation(seccomp),
      Mounts: [helperMount(helper, false), ...channelMounts(dial?.place ?? null)],
      ReadonlyRootfs: true,
      Tmpfs: {},
      ShmSize: MIB,
      PidsLimit: 16,
      Memory: 64 * MIB,
      MemorySwap: 64 * MIB,
      NanoCpus: 1e9,
      Ulimits: commonUlimits(),
    },
    Labels: { [LABEL.service]: serviceId, [LABEL.purpose]: "helper" },
  };
}

/** What a container has to see of a volume that the kernel bounds; otherwise another one is mounted, or a directory. */
export interface VolumeCheck {
  readonly device: number;
  readonly maxBytes: number;
}

/** Exit code of a preparation that sees another volume than was made. */
export const WRONG_VOLUME = 40;

export interface PreparationInput {
  readonly serviceId: string;
  readonly place: Omit<BoxPlace, "container">;
  readonly settings: Pick<BoxSettings, "image" | "workspaceQuotaMb" | "runtime">;
  readonly seccomp: string;
  readonly check?: VolumeCheck | null | undefined;
}

/** The body of the short-lived container that makes a workspace ready before untrusted code sees it (security §3.1). */
export function makePreparationBody({
  serviceId,
  place,
  settings,
  seccomp,
  check = null,
}: PreparationInput): CreateBody {
  const words = [place.uid, check?.device ?? "", check?.maxBytes ?? ""].map(String);
  return {
    ...processBody(settings.image, ROOT, ["/bin/sh", "-c", PREPARE, "prepare", ...words]),
    ...preparation({ serviceId, place, settings, seccomp }),
  };
}

/**
 * The body of the short-lived container that files come through into a workspace which its box can only read: root, with
 * the helper or, without one, with nothing but what the image has (security §7.1).
 */
export function makeImportBody({ helper = null, ...input }: ImportInput): CreateBody {
  const made = preparation(input);
  const mounts = [...made.HostConfig.Mounts, ...(helper === null ? [] : [helperMount(helper, true)])];
  return {
    ...processBody(input.settings.image, ROOT, helper === null ? IDLE : [HELPER_PROGRAM, "hold"]),
    HostConfig: {
      ...made.HostConfig,
      Mounts: mounts,
      PidsLimit: 64,
      Memory: 128 * MIB,
      MemorySwap: 128 * MIB,
    },
    Labels: made.Labels,
  };
}

export interface ImportInput extends Omit<PreparationInput, "check"> {
  readonly helper?: HelperMount | null | undefined;
}

/** What preparation containers have in common: root with the least that can give files away, and the workspace. */
function preparation({ serviceId, place, settings, seccomp }: Omit<PreparationInput, "check">) {
  return {
    HostConfig: {
      ...isolation(seccomp),
      ...runtimeOf(settings),
      CapAdd: ["CHOWN", "DAC_OVERRIDE", "FOWNER"],
      Mounts: [workspaceMount(place.volume, false)],
      ReadonlyRootfs: true,
      Tmpfs: {},
      ShmSize: MIB,
      PidsLimit: 16,
      Memory: 64 * MIB,
      MemorySwap: 64 * MIB,
      NanoCpus: 1e9,
      Ulimits: [...commonUlimits(), fileSizeLimit(settings)],
    },
    Labels: {
      ...ownerLabels({ serviceId, sessionId: place.sessionId, tenant: place.tenant }),
      [LABEL.uid]: String(place.uid),
      [LABEL.purpose]: "preparation",
    },
  };
}

/** Runs as root on a tree that a box may have written, so it follows no link. Arguments: uid, device, most bytes. */
const PREPARE = `set -eu
cd ${WORKSPACE_ROOT}
if [ -n "$2" ] && [ "$(stat -c %d .)" != "$2" ]; then exit ${WRONG_VOLUME}; fi
if [ -n "$3" ] && [ $(($(stat -f -c %b .) * $(stat -f -c %S .))) -gt "$3" ]; then exit ${WRONG_VOLUME}; fi
owner=$(stat -c %u .)
if [ "$owner" != 0 ] && [ "$owner" != "$1" ]; then chown -R -h "$1:$1" .; fi
for name in ${BOX_HOME} ${TOOL_RESULTS_DIR} ${WORKSPACE_ROOT}/inbox ${WORKSPACE_ROOT}/outbox; do
  if [ ! -L "$name" ] && [ ! -e "$name" ]; then mkdir -m 0755 "$name"; fi
  chown -h "$1:$1" "$name"
done
chmod 0700 .
chown "$1:$1" .`;

/** For the engine every box has the same network: none. */
function networkOf({ network }: BoxSettings): readonly string[] {
  return network === "none" ? [] : [network];
}

function fingerprint(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

function processBody(
  image: string,
  user: string,
  entrypoint: readonly string[],
): Omit<CreateBody, "Labels" | "HostConfig"> {
  return {
    Image: image,
    User: user,
    WorkingDir: "/",
    Entrypoint: entrypoint,
    Cmd: [],
    Env: [],
    Tty: false,
    OpenStdin: false,
    StopTimeout: 1,
    Hostname: "box",
    Healthcheck: { Test: ["NONE"] },
  };
}

/** What holds for every container of ours, whatever its settings (box §10.1). */
function isolation(seccomp: string): object {
  return {
    NetworkMode: "none",
    Init: true,
    CapDrop: ["ALL"],
    Privileged: false,
    SecurityOpt: ["no-new-privileges:true", `seccomp=${seccomp}`],
    CgroupnsMode: "private",
    IpcMode: "private",
    PidMode: "",
    UTSMode: "",
    UsernsMode: "",
    OomScoreAdj: 500,
    OomKillDisable: false,
    LogConfig: { Type: "none" },
    RestartPolicy: { Name: "no" },
    AutoRemove: false,
  };
}

function workspaceMount(volume: string, isReadOnly: boolean): object {
  return {
    Type: "volume",
    Source: volume,
    Target: WORKSPACE_ROOT,
    ReadOnly: isReadOnly,
    VolumeOptions: { NoCopy: true },
  };
}

/** Changes of the host's mounts stay on the host, and the box's in the box. */
function extraMount({ source, target, readOnly }: ExtraMount): object {
  return {
    Type: "bind",
    Source: source,
    Target: target,
    ReadOnly: readOnly,
    BindOptions: { Propagation: "rprivate" },
  };
}

function runtimeOf({ runtime }: Pick<BoxSettings, "runtime">): object {
  return runtime === null ? {} : { Runtime: runtime };
}

function helperMount(helper: HelperMount, isReadOnly: boolean): object {
  return {
    Type: "volume",
    Source: helper.volume,
    Target: HELPER_PLACE,
    ReadOnly: isReadOnly,
    // An engine makes a volume anew that somebody has removed: ours has its label also then.
    VolumeOptions: { NoCopy: isReadOnly, Labels: { [LABEL.helper]: helper.version } },
  };
}

function channelMounts(place: SocketPlace | null): readonly object[] {
  if (place === null) return [];
  const mount = { Type: "bind", Source: place.directory, Target: CHANNEL_PLACE, ReadOnly: true };
  return [{ ...mount, BindOptions: { Propagation: "rprivate" } }];
}

/** Together they stay below the memory limit: a full one would kill every later command (security §2). */
function makeTmpfs(settings: BoxSettings): Record<string, string> {
  const tmpMib = Math.min(MAX_TMP_MIB, Math.floor(settings.memoryMb / 4));
  const tmp = { "/tmp": tmpfsOptions(tmpMib, 16_384) };
  if (settings.readOnlyRootfs) return tmp;
  return {
    ...tmp,
    "/var/tmp": tmpfsOptions(Math.floor(tmpMib / 2), 8192),
    "/run/lock": tmpfsOptions(1, 256),
  };
}

/** `exec`, because people compile and run in /tmp. */
function tmpfsOptions(sizeMib: number, inodes: number): string {
  return `rw,nosuid,nodev,exec,size=${sizeMib}m,nr_inodes=${inodes},mode=1777`;
}

function commonUlimits(): readonly object[] {
  return [
    { Name: "nofile", Soft: 1024, Hard: OPEN_FILES },
    { Name: "core", Soft: 0, Hard: 0 },
  ];
}

export function sharedMemoryBytes({ memoryMb }: Pick<BoxSettings, "memoryMb">): number {
  return Math.min(MAX_SHM_MIB, Math.floor(memoryMb / 16)) * MIB;
}

export function fileSizeLimitBytes(settings: Pick<BoxSettings, "workspaceQuotaMb">): number {
  return maxFileMib(settings.workspaceQuotaMb) * MIB;
}

function fileSizeLimit(settings: Pick<BoxSettings, "workspaceQuotaMb">): object {
  const bytes = fileSizeLimitBytes(settings);
  return { Name: "fsize", Soft: bytes, Hard: bytes };
}
