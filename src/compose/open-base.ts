/** What everything else stands on: clock, log, secrets, stores and blobs. */
import { FilesystemBlobStore } from "../adapters/filesystem/filesystem-blob-store.js";
import { loadServiceIdentity } from "../adapters/filesystem/service-identity.js";
import { PinoLogger, type PinoLoggerDeps } from "../adapters/pino/pino-logger.js";
import { PrometheusMetrics } from "../adapters/prometheus/prometheus-metrics.js";
import { openSqlStores, type SqlStores } from "../adapters/sql/open-sql-stores.js";
import { openSqlite } from "../adapters/sqlite/open-sqlite.js";
import { RandomIdSource } from "../adapters/system/random-id-source.js";
import { SystemClock } from "../adapters/system/system-clock.js";
import { collectSecrets } from "../config/collect-secrets.js";
import type { Config } from "../config/config-schema.js";
import type { CleanupStack } from "../lib/cleanup-stack.js";
import { SecretMask } from "../lib/secret-mask.js";
import type { BlobStore } from "../ports/blob-store.js";
import type { Clock } from "../ports/clock.js";
import type { IdSource } from "../ports/id-source.js";
import type { Logger } from "../ports/logger.js";
import { toReceiversOf } from "./webhook-receivers.js";

/** What everything else stands on. */
export interface Base {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: Logger;
  /** Knows the secrets of the configuration and of the data directory. */
  readonly mask: SecretMask;
  readonly metrics: PrometheusMetrics;
  readonly stores: SqlStores;
  readonly blobs: BlobStore;
  readonly serviceId: string;
  readonly linkSecret: string;
}

/** Opens it; what has to be closed again is given to `life`. @param logDestination standard output if not given */
export async function openBase(
  config: Config,
  logDestination: PinoLoggerDeps["destination"],
  life: CleanupStack,
): Promise<Base> {
  const clock = new SystemClock();
  const ids = new RandomIdSource();
  const identity = await loadServiceIdentity(config.storage.directory);
  const mask = new SecretMask([...collectSecrets(config), identity.linkSecret]);
  const logger = new PinoLogger({ level: config.log.level, mask, destination: logDestination });
  const stores = life.use(
    await openSqlStores(openSqlite(`sqlite:${config.storage.database.path}`), toReceiversOf(config)),
  );
  const blobs = new FilesystemBlobStore({ root: config.storage.files, clock, ids });
  await blobs.prepare();
  return {
    clock,
    ids,
    logger,
    mask,
    metrics: new PrometheusMetrics({ ofProcess: true }),
    stores,
    blobs,
    ...identity,
  };
}
