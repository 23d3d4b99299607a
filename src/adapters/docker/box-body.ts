/** The create body of a box, built from typed values alone (security §3.2). */
import { createHash } from "node:crypto";
import type { BoxSettings, ExtraMount } from "../../domain/box.js";
import type { BoxPlace } from "../../ports/box-backend.js";
import {
  type CreateBody,
  channelMounts,
  commonUlimits,
  fileSizeLimit,
  HELPER_PROGRAM,
  type HelperMount,
  HOLDER,
  helperMount,
  IDLE,
  isolation,
  MIB,
  processBody,
  runtimeOf,
  workspaceMount,
} from "./container-body.js";
import { LABEL, ownerLabels } from "./labels.js";
import type { SocketPlace } from "./socket-places.js";

const MAX_TMP_MIB = 64;
const MAX_SHM_MIB = 16;
/** A quarter of what any other container has: what boxes do comes after the service and its neighbours. */
const CPU_SHARES = 256;

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
      CpuShares: CPU_SHARES,
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

/** For the engine every box has the same network: none. */
function networkOf({ network }: BoxSettings): readonly string[] {
  return network === "none" ? [] : [network];
}

function fingerprint(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
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

/** Bytes of /dev/shm. */
export function sharedMemoryBytes({ memoryMb }: Pick<BoxSettings, "memoryMb">): number {
  return Math.min(MAX_SHM_MIB, Math.floor(memoryMb / 16)) * MIB;
}
