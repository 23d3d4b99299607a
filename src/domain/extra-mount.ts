/** Directories of the host that an operator puts into every box: where they may come from and where they may go (box §10.4). Pure. */
import type { ExtraMount } from "./box.js";
import { isWithin } from "./workspace-path.js";

/** A source as it was found: where it really lies, links followed; null = it is not there. */
export interface FoundSource {
  readonly realPath: string;
  readonly kind: "directory" | "file" | "other";
}

export interface MountGround {
  /** Where the allowed roots really lie; one that is not there allows nothing. */
  readonly roots: readonly string[];
  /** Where the engine's socket and the service's own data really lie: nothing of them gets into a box. */
  readonly ownPlaces: readonly string[];
}

/** What a mount lacks: which part of it, what was found, and what is allowed. Without the source's path: it is the operator's. */
export interface MountFault {
  /** Of the mount. */
  readonly index: number;
  readonly part: "source" | "target";
  readonly found: string;
  readonly allowed: string;
}

/** Places of a box that have an owner already; a mount there, below or above would hide one of them or be hidden. */
const TAKEN = [
  "/workspace",
  "/tmp",
  "/var/tmp",
  "/run/lock",
  "/run/berth",
  "/opt/berth",
  "/proc",
  "/sys",
  "/dev",
] as const;
const MAX_PATH_CHARS = 4096;

/** @param found of each mount, in order. @returns every fault with the position of its mount; empty = all are allowed */
export function findMountFaults(
  mounts: readonly ExtraMount[],
  found: readonly (FoundSource | null)[],
  ground: MountGround,
): readonly MountFault[] {
  return mounts.flatMap(({ target }, index): MountFault[] => {
    const others = mounts.flatMap((mount, other) => (other === index ? [] : [mount.target]));
    const writable = mounts.flatMap(({ readOnly }, other) =>
      readOnly || other === index ? [] : (found[other]?.realPath ?? []),
    );
    const faults = [findTargetFault(target, others), findSourceFault(found[index] ?? null, ground, writable)];
    return faults.flatMap((fault) => (fault === null ? [] : [{ index, ...fault }]));
  });
}

type Fault = Omit<MountFault, "index">;

function badTarget(found: string, allowed: string): Fault {
  return { part: "target", found, allowed };
}

function badSource(found: string, allowed: string): Fault {
  return { part: "source", found, allowed };
}

function findTargetFault(target: string, others: readonly string[]): Fault | null {
  if (!isPlainPath(target)) return badTarget("a path that is not plain", PLAIN);
  if (target === "/") return badTarget("the root of the box", "a directory below it");
  const taken = TAKEN.find((place) => overlap(place, target));
  if (taken !== undefined)
    return badTarget(`a place that meets ${taken} of the box`, `a path apart from ${TAKEN.join(", ")}`);
  if (others.some((other) => overlap(other, target)))
    return badTarget("a place that meets another extra mount", "targets none of which lies in another");
  return null;
}

/**
 * Paths are compared component by component, after links were followed.
 * @param writable where the sources of other, writable mounts really lie: a box could change what leads below them
 */
function findSourceFault(
  found: FoundSource | null,
  { roots, ownPlaces }: MountGround,
  writable: readonly string[],
): Fault | null {
  if (found === null) return badSource("nothing that is there", "a directory or file that exists");
  const { realPath, kind } = found;
  const usable = roots.filter((root) => root !== "/");
  if (usable.length === 0)
    return badSource(
      "a place outside the allowed roots",
      "nothing: boxes.allowed_mount_roots names no place",
    );
  if (!usable.some((root) => isWithin(root, realPath)))
    return badSource(
      "a place outside the allowed roots, links followed",
      "a place inside one of boxes.allowed_mount_roots",
    );
  if (kind === "other") return badSource("a socket, device or pipe", "a directory or a regular file");
  if (ownPlaces.some((place) => overlap(place, realPath)))
    return badSource(
      "a place that holds the engine's socket or the service's own data",
      "a place apart from both",
    );
  if (writable.some((other) => isWithin(other, realPath)))
    return badSource("a place inside a writable extra mount", "a place that no box can change");
  return null;
}

const PLAIN = `an absolute path of at most ${MAX_PATH_CHARS} characters, without ., .., empty parts and control characters`;

/** Whether a path is absolute and written in its shortest form. */
export function isPlainPath(path: string): boolean {
  if (path === "/") return true;
  if (!path.startsWith("/") || path.length > MAX_PATH_CHARS || /[\p{Control}\p{Surrogate}]/u.test(path))
    return false;
  return path
    .slice(1)
    .split("/")
    .every((part) => part !== "" && part !== "." && part !== "..");
}

function overlap(one: string, other: string): boolean {
  return isWithin(one, other) || isWithin(other, one);
}
