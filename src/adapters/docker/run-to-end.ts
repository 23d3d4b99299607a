/** Runs a short-lived container of ours to its end and removes it, whatever happens. */
import { delay } from "../../lib/delay.js";
import type { Clock } from "../../ports/clock.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import type { CreateBody } from "./container-body.js";
import type { EngineCalls } from "./engine-calls.js";
import { missingImage, slowEngine } from "./engine-errors.js";

/** What such a container may take. */
export const SHORT_LIFE_MS = 30_000;
const REMOVAL_MS = 20_000;
const LOOK_AGAIN_MS = 100;

export interface ContainerWork {
  readonly calls: EngineCalls;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Names of the short-lived containers of this process; every other one was left by a crash. */
  readonly shortLived: Set<string>;
}

/** @returns the exit code. @throws ServiceError `box.readiness` when the image is not there */
export async function runToEnd(
  work: ContainerWork,
  { name, body }: { readonly name: string; readonly body: CreateBody },
  options: CallOptions,
): Promise<number> {
  work.shortLived.add(name);
  try {
    if ((await work.calls.createContainer(name, body, options)) === "no_image")
      throw missingImage(body.Image);
    await work.calls.startContainer(name, options);
    return await work.calls.waitContainer(name, SHORT_LIFE_MS, options);
  } finally {
    await discard(work, name);
  }
}

/** Also after an abort. What cannot be removed here is found by its label later. */
export async function discard(work: ContainerWork, name: string): Promise<void> {
  try {
    await removeContainer(work, name, { signal: new AbortController().signal });
  } catch (error) {
    work.logger.warn({ container: name }, "A short-lived container could not be removed.", error);
  } finally {
    work.shortLived.delete(name);
  }
}

/** Returns when the container is gone, so that its volume can be mounted elsewhere (security §3.1). */
export async function removeContainer(
  { calls, clock }: Pick<ContainerWork, "calls" | "clock">,
  name: string,
  options: CallOptions,
): Promise<void> {
  const until = clock.elapsed() + REMOVAL_MS;
  while ((await calls.removeContainer(name, options)) === "busy") {
    if (clock.elapsed() > until) throw slowEngine("remove a container", REMOVAL_MS);
    await delay(LOOK_AGAIN_MS, options);
  }
}
