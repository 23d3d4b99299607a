/** What the create bodies of all our containers have in common; nothing from outside is merged into them (security §3.2). */
import { type BoxSettings, WORKSPACE_ROOT } from "../../domain/box.js";
import { maxFileMib } from "../../domain/exec-outcome.js";
import { LABEL } from "./labels.js";
import type { SocketPlace } from "./socket-places.js";

/** Owner of PID 1, so that the box user can neither write to its descriptors nor end it. */
export const HOLDER_UID = 20_000;
export const HOLDER = `${HOLDER_UID}:${HOLDER_UID}`;
/** A main process that only keeps the container. */
export const IDLE: readonly string[] = ["sleep", "infinity"];
/** Where the helper's volume is mounted; nothing of a box can write there. */
const HELPER_PLACE = "/opt/berth";
export const HELPER_PROGRAM = `${HELPER_PLACE}/boxd`;
/** Where the directory with the service's socket is mounted; nothing of a box can write there. */
export const CHANNEL_PLACE = "/run/berth";
export const MIB = 1024 * 1024;
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

/** Everything but its labels and limits: which process runs, as whom, without terminal, input and health check. */
export function processBody(
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
export function isolation(seccomp: string): object {
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

/** The volume of a workspace, as it is: nothing of the image is copied into it. */
export function workspaceMount(volume: string, isReadOnly: boolean): object {
  return {
    Type: "volume",
    Source: volume,
    Target: WORKSPACE_ROOT,
    ReadOnly: isReadOnly,
    VolumeOptions: { NoCopy: true },
  };
}

/** Without a runtime in the settings the engine chooses. */
export function runtimeOf({ runtime }: Pick<BoxSettings, "runtime">): object {
  return runtime === null ? {} : { Runtime: runtime };
}

/** The helper's program; writable where it is filled from the image. */
export function helperMount(helper: HelperMount, isReadOnly: boolean): object {
  return {
    Type: "volume",
    Source: helper.volume,
    Target: HELPER_PLACE,
    ReadOnly: isReadOnly,
    // An engine makes a volume anew that somebody has removed: ours has its label also then.
    VolumeOptions: { NoCopy: isReadOnly, Labels: { [LABEL.helper]: helper.version } },
  };
}

/** The directory in which the helper dials in, if there is one. */
export function channelMounts(place: SocketPlace | null): readonly object[] {
  if (place === null) return [];
  const mount = { Type: "bind", Source: place.directory, Target: CHANNEL_PLACE, ReadOnly: true };
  return [{ ...mount, BindOptions: { Propagation: "rprivate" } }];
}

/** Limits that do not depend on the settings of a box. */
export function commonUlimits(): readonly object[] {
  return [
    { Name: "nofile", Soft: 1024, Hard: OPEN_FILES },
    { Name: "core", Soft: 0, Hard: 0 },
  ];
}

/** Bytes of the largest file that a process in the box can write. */
export function fileSizeLimitBytes(settings: Pick<BoxSettings, "workspaceQuotaMb">): number {
  return maxFileMib(settings.workspaceQuotaMb) * MIB;
}

/** The same as a limit of the container. */
export function fileSizeLimit(settings: Pick<BoxSettings, "workspaceQuotaMb">): object {
  const bytes = fileSizeLimitBytes(settings);
  return { Name: "fsize", Soft: bytes, Hard: bytes };
}

/** What a container that does one small thing for the service gets of the machine. */
export function shortLife(): object {
  return {
    ReadonlyRootfs: true,
    Tmpfs: {},
    ShmSize: MIB,
    PidsLimit: 16,
    Memory: 64 * MIB,
    MemorySwap: 64 * MIB,
    NanoCpus: 1e9,
  };
}
