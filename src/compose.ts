/** Builds the service from its parts in compose/: there, and only there, adapters are made and handed to features. */
import { sniffMimeType } from "./adapters/file-types/sniff-mime-type.js";
import type { PinoLoggerDeps } from "./adapters/pino/pino-logger.js";
import { RandomIdSource } from "./adapters/system/random-id-source.js";
import { SystemClock } from "./adapters/system/system-clock.js";
import type { HandLease } from "./box/box-lease.js";
import type { LeaseOptions } from "./box/box-service.js";
import { Jobs } from "./box/jobs.js";
import { parseTemplate } from "./box/key-template.js";
import { Terminals } from "./box/terminals.js";
import { buildBackend, buildBoxes, buildGrants } from "./compose/build-boxes.js";
import { buildPlugins } from "./compose/build-plugins.js";
import { buildModels, buildRuns } from "./compose/build-runs.js";
import { buildTools } from "./compose/build-tools.js";
import { startWebhooks } from "./compose/build-webhooks.js";
import { toHttpSettings, toJobsSettings, toPipelines } from "./compose/feature-settings.js";
import { openBase } from "./compose/open-base.js";
import {
  lookAfterGrants,
  lookAfterProcesses,
  lookAfterRuns,
  lookForPackages,
  sweepOldData,
} from "./compose/periodic-tasks.js";
import { probeParts } from "./compose/probe-parts.js";
import { readServiceVersion } from "./compose/service-version.js";
import type { Config } from "./config/config-schema.js";
import { modelsOfType } from "./config/model-settings.js";
import type { PipelineConfig } from "./config/pipeline-settings.js";
import { findAccessFaults } from "./domain/access-switches.js";
import { toServiceError } from "./domain/errors.js";
import { canonicalRunnerId, isPluginRunnerId } from "./domain/runner-id.js";
import type { SessionRecord } from "./domain/session.js";
import { createApp, type HttpApp } from "./http/create-app.js";
import { listen } from "./http/listen.js";
import { CleanupStack } from "./lib/cleanup-stack.js";
import type { BoxBackend } from "./ports/box-backend.js";
import type { ChatModel } from "./ports/chat-model.js";
import type { IdSource } from "./ports/id-source.js";
import { bundledRunners } from "./runners/index.js";
import { FileService } from "./runs/file-service.js";
import { resolveBinding } from "./runs/resolve-binding.js";
import type { ServeRuns } from "./runs/serve-runs.js";
import { SessionService } from "./runs/session-service.js";
import { createExecTool } from "./tools/native/exec.js";
import { nativeTools } from "./tools/native/index.js";

/** Milliseconds for everything that asks an engine while the service starts. */
const START_MS = 30_000;
/** Milliseconds for answers that are on their way when the port closes. */
const LAST_ANSWERS_MS = 5_000;

export interface ComposeOptions {
  /** Takes log lines; standard output if not given. */
  readonly logDestination?: PinoLoggerDeps["destination"];
  /** Stands in for the configured engine, in tests. */
  readonly backend?: BoxBackend;
  /** Stand in for configured models of the same id, in tests. */
  readonly models?: ReadonlyMap<string, ChatModel>;
}

export interface Composed extends AsyncDisposable {
  /** Opens the port of the configuration. @returns the address as a client on this machine reaches it */
  listen(): Promise<string>;
}

/** Names of the tools that a pipeline may allow. */
export const TOOL_NAMES: readonly string[] = nativeTools({ outputChars: 0 }).map(({ name }) => name);

/**
 * What a pipeline's runner has against its config; for the check of the configuration (runs §5.5). Runners of packages
 * are not known before the service runs: what is wrong with their config is told by their runs.
 */
export function findRunnerFaults(pipeline: PipelineConfig): readonly string[] {
  const bundled = bundledRunners({ clock: new SystemClock(), ids: new RandomIdSource() });
  const { config, runnerId } = resolveBinding(toPipelines(pipeline.id, [pipeline]), pipeline.id);
  if (runnerId === null) return [];
  const runner = bundled.find(({ descriptor }) => descriptor.id === canonicalRunnerId(runnerId));
  if (runner === undefined)
    return isPluginRunnerId(runnerId) ? [] : [`runner.id "${runnerId}" is no runner that ships.`];
  try {
    const box = runner.planBox(config);
    if (box !== null) parseTemplate(box.template);
    // The binding itself is checked for these already.
    const known = findAccessFaults(config);
    return runner.findConfigFaults(config).filter((fault) => !known.includes(fault));
  } catch (error) {
    return [toServiceError(error).message];
  }
}

/** Builds the service and brings it to work: stores open, runs of a dead process closed, boxes reconciled. */
export async function compose(config: Config, options: ComposeOptions = {}): Promise<Composed> {
  await using life = new CleanupStack();
  const base = await openBase(config, options.logDestination, life);
  const backend = options.backend ?? life.use(buildBackend(config, base));
  const grants = buildGrants(config, base);
  const boxes = life.use(buildBoxes(config, base, { backend, grants }));
  const lease = (session: SessionRecord, call: LeaseOptions): Promise<HandLease> =>
    boxes.lease(session, call);
  const jobs = life.use(new Jobs({ ...base, lease }, toJobsSettings(config)));
  const terminals = life.use(new Terminals({ ...base, lease }, { maxOpen: config.jobs.max_terminals }));
  const version = readServiceVersion();
  const packages = buildPlugins(config, base);
  if (packages !== null) life.use(packages);
  const models = buildModels(config, options.models);
  const catalog = buildTools(config, { base, packages, version }, life);
  const parts = { base, boxes, jobs, models, packages, catalog, version };
  const { runs, runners } = buildRuns(config, parts);
  const files = new FileService({ ...base, files: base.stores.files, sniffMimeType });
  const exec = createExecTool({ outputChars: config.exec.output_chars, mask: base.mask });
  const sessions = new SessionService({ ...base, ...base.stores, boxes, jobs, terminals, exec });
  const looks = life.use(lookAfterProcesses(jobs, terminals, base.logger));
  const { refresh_sec: refreshSec } = config.grants ?? { refresh_sec: 0 };
  const granted =
    grants === undefined ? null : life.use(lookAfterGrants({ grants, boxes, refreshSec }, base));
  const sweep = life.use(sweepOldData(config, files, base));
  const lost = life.use(lookAfterRuns(runs, base.logger));
  const changes = packages === null ? null : life.use(lookForPackages(packages, base.logger));
  const probed = { boxes, stores: base.stores, configuredModels: modelsOfType(config, "llm").length };
  const http = createApp({
    ...base,
    runs,
    files,
    sessions,
    boxes,
    runners,
    probeParts: (call) => probeParts(probed, call),
    settings: toHttpSettings(config, version),
  });
  await boxes.start({ signal: AbortSignal.timeout(START_MS) });
  await startWebhooks(config, base, life);
  await runs.start();
  sweep.start();
  looks.start();
  lost.start();
  changes?.start();
  granted?.start();
  return new Service({ config, http, runs, ids: base.ids, life: life.move() });
}

interface ServiceParts {
  readonly config: Config;
  readonly http: HttpApp;
  readonly runs: ServeRuns;
  readonly ids: IdSource;
  readonly life: CleanupStack;
}

/** The running service: runs end first, while clients can still hear of it, then the port, then everything below. */
class Service implements Composed {
  readonly #parts: ServiceParts;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
  }

  async listen(): Promise<string> {
    const { config, http, ids, life } = this.#parts;
    const { host, port } = config.server;
    const listener = await listen(http.app, {
      host,
      port,
      streams: http.streams,
      upgrades: http.upgrades,
      ids,
    });
    life.defer(() => listener.close(LAST_ANSWERS_MS));
    return listener.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { config, runs, life } = this.#parts;
    await using _below = life;
    await runs.stop(config.shutdown_grace_sec * 1000);
  }
}
