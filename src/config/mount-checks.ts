/** Faults of the extra mounts of boxes: their sources and roots are looked up where they really lie (box §10.4). */
import { realpathSync, statSync } from "node:fs";
import { type FoundSource, findMountFaults, isPlainPath } from "../domain/extra-mount.js";
import type { ConfigFault } from "./config-fault.js";
import type { Settings } from "./config-schema.js";

const DEFAULT_SOCKET = "/var/run/docker.sock";

/** @param dataDirectory of the service, absolute */
export function findMountSettingFaults({ boxes }: Settings, dataDirectory: string): ConfigFault[] {
  const { extra_mounts: mounts, allowed_mount_roots: roots, engines } = boxes;
  const rootFaults = roots.flatMap((root, index) => checkRoot(root, `boxes.allowed_mount_roots[${index}]`));
  if (mounts.length === 0) return rootFaults;
  const socket = socketOf(engines[0]?.host ?? "");
  if (socket === null)
    return [
      ...rootFaults,
      {
        path: "boxes.extra_mounts",
        found: "extra mounts with an engine that is reached over the network",
        allowed: "an empty list: sources cannot be checked on another host",
      },
    ];
  const ground = {
    roots: roots.flatMap((root) => findSource(root)?.realPath ?? []),
    ownPlaces: [socket, dataDirectory].map((place) => findSource(place)?.realPath ?? place),
  };
  const faults = findMountFaults(
    mounts.map((mount) => ({ ...mount, readOnly: mount.read_only })),
    mounts.map(({ source }) => findSource(source)),
    ground,
  );
  return [
    ...rootFaults,
    ...faults.map(({ index, part, found, allowed }) => ({
      path: `boxes.extra_mounts[${index}].${part}`,
      found,
      allowed,
    })),
  ];
}

function checkRoot(root: string, path: string): ConfigFault[] {
  if (!isPlainPath(root))
    return [{ path, found: "a path that is not plain", allowed: "an absolute path without . and .." }];
  const found = findSource(root);
  if (found?.realPath === "/")
    return [{ path, found: "the root of the host", allowed: "a directory below it" }];
  if (found?.kind === "directory") return [];
  return [
    {
      path,
      found: found === null ? "nothing that is there" : "no directory",
      allowed: "a directory that exists",
    },
  ];
}

/** Null for an engine that does not answer on a socket of this host. */
function socketOf(address: string): string | null {
  if (address === "") return DEFAULT_SOCKET;
  return address.startsWith("unix://") ? address.slice("unix://".length) : null;
}

function findSource(path: string): FoundSource | null {
  try {
    const realPath = realpathSync(path);
    const stats = statSync(realPath);
    const kind = stats.isDirectory() ? "directory" : stats.isFile() ? "file" : "other";
    return { realPath, kind };
  } catch {
    return null;
  }
}
