/** Looks up where extra mounts really come from, right before a container is made with them (box §10.4). */
import { realpath, stat } from "node:fs/promises";
import type { ExtraMount } from "../../domain/box.js";
import { ServiceError } from "../../domain/errors.js";
import { type FoundSource, findMountFaults, type MountFault } from "../../domain/extra-mount.js";

export interface MountRules {
  /** Directories inside which sources must lie, links followed. */
  readonly allowedRoots: readonly string[];
  /** The engine's socket and the service's own data: nothing of them gets into a box. */
  readonly ownPlaces: readonly string[];
}

/**
 * The mounts with the places where their sources really lie: what was checked is what the engine is told.
 * @throws ServiceError `box.validation` for a mount that is not allowed; the engine has heard nothing then
 */
export async function resolveMounts(
  mounts: readonly ExtraMount[],
  { allowedRoots, ownPlaces }: MountRules,
): Promise<readonly ExtraMount[]> {
  if (mounts.length === 0) return [];
  const found = await Promise.all(mounts.map(({ source }) => findSource(source)));
  const ground = {
    roots: (await Promise.all(allowedRoots.map(findSource))).flatMap((root) => root?.realPath ?? []),
    ownPlaces: await Promise.all(
      ownPlaces.map(async (place) => (await findSource(place))?.realPath ?? place),
    ),
  };
  const [fault] = findMountFaults(mounts, found, ground);
  if (fault !== undefined) throw refuse(mounts, fault);
  return mounts.map((mount, index) => ({ ...mount, source: found[index]?.realPath ?? mount.source }));
}

function refuse(mounts: readonly ExtraMount[], { index, part, found, allowed }: MountFault): ServiceError {
  return new ServiceError(
    "box.validation",
    `The extra mount at ${JSON.stringify(mounts[index]?.target)} is not allowed: its ${part} is ${found}.`,
    { hint: `Allowed is ${allowed}.`, param: "boxes.extra_mounts" },
  );
}

async function findSource(path: string): Promise<FoundSource | null> {
  try {
    const realPath = await realpath(path);
    const stats = await stat(realPath);
    return { realPath, kind: stats.isDirectory() ? "directory" : stats.isFile() ? "file" : "other" };
  } catch {
    return null;
  }
}
