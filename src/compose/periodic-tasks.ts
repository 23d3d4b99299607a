/** What the service looks after by itself, again and again. */
import type { BoxService } from "../box/box-service.js";
import type { Jobs } from "../box/jobs.js";
import type { TenantGrants } from "../box/tenant-grants.js";
import type { Terminals } from "../box/terminals.js";
import type { Config } from "../config/config-schema.js";
import { toServiceError } from "../domain/errors.js";
import { PeriodicTask } from "../lib/periodic-task.js";
import type { Logger } from "../ports/logger.js";
import type { PluginPackages } from "../ports/plugin-packages.js";
import type { FileService } from "../runs/file-service.js";
import type { ServeRuns } from "../runs/serve-runs.js";
import { sweepRetention } from "../runs/sweep-retention.js";
import type { Base } from "./open-base.js";

/** A claim outlasts two rounds; with it no run stays without a worker for more than 60 s (runs §20.4). */
const HOLD_EVERY_MS = 10_000;
const SWEEP_EVERY_MS = 3_600_000;
const LOOK_AFTER_EVERY_MS = 10_000;
const LOOK_FOR_PACKAGES_EVERY_MS = 5_000;
/** An expired grant leaves its boxes open no longer than this, and what closing takes. */
const CLOSE_EVERY_MS = 1_000;
const DAY_MS = 86_400_000;

/** Forgets old records of jobs and ends terminals that nobody uses. */
export function lookAfterProcesses(jobs: Jobs, terminals: Terminals, logger: Logger): PeriodicTask {
  return new PeriodicTask({
    everyMs: LOOK_AFTER_EVERY_MS,
    work: async () => {
      jobs.prune();
      await terminals.closeAbandoned();
    },
    onError: (error) =>
      logger.error({ code: toServiceError(error).code }, "Terminals could not be closed.", error),
  });
}

/** Holds the claims of runs, ends those that have lost their worker, and takes in those that nobody looks after. */
export function lookAfterRuns(runs: ServeRuns, logger: Logger): PeriodicTask {
  return new PeriodicTask({
    everyMs: HOLD_EVERY_MS,
    work: () => runs.lookAfter(),
    onError: (error) =>
      logger.error({ code: toServiceError(error).code }, "Runs could not be looked after.", error),
  });
}

/** Renews grants, and every second closes what is not granted any longer (box §16.3). */
export function lookAfterGrants(
  { grants, boxes, refreshSec }: { grants: TenantGrants; boxes: BoxService; refreshSec: number },
  { clock, logger }: Pick<Base, "clock" | "logger">,
): PeriodicTask {
  let renewedAt = Number.NEGATIVE_INFINITY;
  return new PeriodicTask({
    everyMs: CLOSE_EVERY_MS,
    work: async (signal) => {
      if (clock.elapsed() - renewedAt >= refreshSec * 1000) {
        renewedAt = clock.elapsed();
        await grants.refreshAll({ signal });
      }
      await boxes.closeUngranted({ signal });
    },
    onError: (error) =>
      logger.error({ code: toServiceError(error).code }, "Grants could not be looked after.", error),
  });
}

/** Finds packages that were installed, changed or removed while the service runs (runs §3.4). */
export function lookForPackages(packages: PluginPackages, logger: Logger): PeriodicTask {
  return new PeriodicTask({
    everyMs: LOOK_FOR_PACKAGES_EVERY_MS,
    work: async (signal) => void (await packages.list({ signal })),
    onError: (error) =>
      logger.warn({ code: toServiceError(error).code }, "The packages could not be looked through.", error),
  });
}

/** Lets go of attachments, files and bytes that are older than `storage.retention_days`. */
export function sweepOldData(config: Config, files: FileService, base: Base): PeriodicTask {
  const { clock, logger, stores } = base;
  const retentionMs = config.storage.retention_days * DAY_MS;
  return new PeriodicTask({
    everyMs: SWEEP_EVERY_MS,
    work: (signal) => {
      const deps = { ...stores, files, now: () => clock.now() };
      return sweepRetention(deps, clock.now() - retentionMs, { signal });
    },
    onError: (error) =>
      logger.error({ code: toServiceError(error).code }, "Old data could not be removed.", error),
  });
}
