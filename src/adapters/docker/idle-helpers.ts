/** Volumes of earlier helpers that no container has mounted any more: they are removed, so that an engine does not collect them. */
import { ServiceError } from "../../domain/errors.js";
import type { CallOptions } from "../../ports/options.js";
import { LABEL } from "./labels.js";
import type { ContainerWork } from "./run-to-end.js";

/** Another service may just have made one and not mounted it yet. */
const SETTLED_MS = 3_600_000;

export const HELPER_VOLUME_PREFIX = "berth-boxd-";

/** @param kept the volume in use. What cannot be removed stays for the next time. */
export async function removeIdleHelpers(
  { calls, clock, logger }: ContainerWork,
  kept: string,
  options: CallOptions,
): Promise<void> {
  try {
    for (const { Name: volume, Labels: labels, CreatedAt: createdAt } of await calls.listIdleVolumes(
      LABEL.helper,
      options,
    )) {
      const isOurs = volume === `${HELPER_VOLUME_PREFIX}${labels[LABEL.helper]}`;
      const isSettled = clock.now() - Date.parse(createdAt) > SETTLED_MS;
      if (isOurs && isSettled && volume !== kept) await removeIdle(calls, volume, options);
    }
  } catch (error) {
    options.signal.throwIfAborted();
    logger.warn({ volume: kept }, "Volumes of earlier helpers could not be removed.", error);
  }
}

/** One that was mounted meanwhile stays. */
async function removeIdle(
  calls: ContainerWork["calls"],
  volume: string,
  options: CallOptions,
): Promise<void> {
  try {
    await calls.removeVolume(volume, options);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === "box.conflict")) throw error;
  }
}
