/** Builds adapters and hands them to features: the only place that knows all of them. */
import { join } from "node:path";
import { BoxdHelper } from "./adapters/boxd/boxd-helper.js";
import { DemoModel } from "./adapters/demo/demo-model.js";
import { DockerBoxBackend } from "./adapters/docker/docker-box-backend.js";
import { parseEngineAddress } from "./adapters/docker/engine-connection.js";
import { HostReserve } from "./adapters/docker/host-reserve.js";
import { HttpEgressBroker } from "./adapters/egress/http-egress-broker.js";
import { sniffMimeType } from "./adapters/file-types/sniff-mime-type.js";
import { FilesystemBlobStore } from "./adapters/filesystem/filesystem-blob-store.js";
import { loadServiceIdentity } from "./adapters/filesystem/service-identity.js";
import { LoopVolumes } from "./adapters/loop-volumes/loop-volumes.js";
import { OpenAiChatModel } from "./adapters/openai/openai-chat-model.js";
import { GuardedFetch } from "./adapters/outbound/guarded-fetch.js";
import { PinoLogger, type PinoLoggerDeps } from "./adapters/pino/pino-logger.js";
import { PrometheusMetrics } from "./adapters/prometheus/prometheus-metrics.js";
import { openSqlStores, type SqlStores } from "./adapters/sql/open-sql-stores.js";
import { openSqlite } from "./adapters/sqlite/open-sqlite.js";
import { LocalRunEvents } from "./adapters/system/local-run-events.js";
import { RandomIdSource } from "./adapters/system/random-id-source.js";
import { SystemClock } from "./adapters/system/system-clock.js";
import type { HandLease } from "./box/box-lease.js";
import { BoxService, type LeaseOptions } from "./box/box-service.js";
import { Jobs } from "./box/jobs.js";
import { parseTemplate } from "./box/key-template.js";
import { Terminals } from "./box/terminals.js";
import {
  toBoxSettings,
  toEgressSettings,
  toFileLimits,
  toHttpSettings,
  toIdleTtlSec,
  toJobsSettings,
  toModelFacts,
  toModelSettings,
  toMountRules,
  toPipelines,
} from "./compose/feature-settings.js";
import { probeParts } from "./compose/probe-parts.js";
import { readServiceVersion } from "./compose/service-version.js";
import { collectSecrets } from "./config/collect-secrets.js";
import type { Config } from "./config/config-schema.js";
import { DEMO_MODEL_ID } from "./config/model-settings.js";
import type { PipelineConfig } from "./config/pipeline-settings.js";
import { toServiceError } from "./domain/errors.js";
import type { SessionRecord } from "./domain/session.js";
import { createApp, type HttpApp } from "./http/create-app.js";
import { listen } from "./http/listen.js";
import { CleanupStack } from "./lib/cleanup-stack.js";
import { KeyedLock } from "./lib/keyed-lock.js";
import { PeriodicTask } from "./lib/periodic-task.js";
import { SecretMask } from "./lib/secret-mask.js";
import type { BlobStore } from "./ports/blob-store.js";
import type { BoxBackend } from "./ports/box-backend.js";
import type { ChatModel } from "./ports/chat-model.js";
import type { Clock } from "./ports/clock.js";
import type { IdSource } from "./ports/id-source.js";
import type { Logger } from "./ports/logger.js";
import { bundledRunners } from "./runners/index.js";
import { ActiveRuns } from "./runs/active-runs.js";
import { FileService } from "./runs/file-service.js";
import type { RunBoxDeps } from "./runs/host/run-box.js";
import { Orchestrator } from "./runs/orchestrator.js";
import type { PlanDeps } from "./runs/plan-run.js";
import { resolveBinding } from "./runs/resolve-binding.js";
import { RunnerRegistry } from "./runs/runner-registry.js";
import { ServeRuns } from "./runs/serve-runs.js";
import { SessionService } from "./runs/session-service.js";
import { sweepRetention } from "./runs/sweep-retention.js";
import { createExecTool } from "./tools/native/exec.js";
import { nativeTools } from "./tools/native/index.js";
import { offerNativeTools } from "./tools/tool-catalog.js";

/** Holds the in-box helper; made by `npm run image`. */
const HELPER_IMAGE = "berth-boxd:latest";
/** Milliseconds for everything that asks an engine while the service starts. */
const START_MS = 30_000;
/** Milliseconds for answers that are on their way when the port closes. */
const LAST_ANSWERS_MS = 5_000;
/** No run stays without a worker for more than 60 s (runs §20.4). */
const END_LOST_EVERY_MS = 20_000;
const SWEEP_EVERY_MS = 3_600_000;
const LOOK_AFTER_EVERY_MS = 10_000;
const DAY_MS = 86_400_000;

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

/** What a pipeline's runner has against its config; for the check of the configuration (runs §5.5). */
export function findRunnerFaults(pipeline: PipelineConfig): readonly string[] {
  const runners = new RunnerRegistry(bundledRunners({ clock: new SystemClock(), ids: new RandomIdSource() }));
  try {
    const config = resolveBinding(toPipelines(pipeline.id, [pipeline]), pipeline.id).config;
    const runner = runners.get(pipeline.runner.id);
    const box = runner.planBox(config);
    if (box !== null) parseTemplate(box.template);
    return runner.findConfigFaults(config);
  } catch (error) {
    return [toServiceError(error).message];
  }
}

/** Builds the service and brings it to work: stores open, runs of a dead process closed, boxes reconciled. */
export async function compose(config: Config, options: ComposeOptions = {}): Promise<Composed> {
  await using life = new CleanupStack();
  const base = await openBase(config, options, life);
  const boxes = life.use(buildBoxes(config, base, options.backend ?? life.use(buildBackend(config, base))));
  const lease = (session: SessionRecord, call: LeaseOptions): Promise<HandLease> =>
    boxes.lease(session, call);
  const jobs = life.use(new Jobs({ ...base, lease }, toJobsSettings(config)));
  const terminals = life.use(new Terminals({ ...base, lease }, { maxOpen: config.jobs.max_terminals }));
  const version = readServiceVersion();
  const runs = buildRuns(config, { base, boxes, jobs, models: toModels(config, options.models), version });
  const files = new FileService({ ...base, files: base.stores.files, sniffMimeType });
  const exec = createExecTool({ outputChars: config.exec.output_chars, mask: base.mask });
  const sessions = new SessionService({ ...base, ...base.stores, boxes, jobs, terminals, exec });
  const looks = life.use(lookAfterProcesses(jobs, terminals, base.logger));
  const sweep = life.use(sweepOldData(config, files, base));
  const lost = life.use(endLostRuns(runs, base.logger));
  const probed = { boxes, stores: base.stores, configuredModels: config.models.length };
  const http = createApp({
    ...base,
    runs,
    files,
    sessions,
    boxes,
    probeParts: (call) => probeParts(probed, call),
    settings: toHttpSettings(config, version),
  });
  await boxes.start({ signal: AbortSignal.timeout(START_MS) });
  await runs.start();
  sweep.start();
  looks.start();
  lost.start();
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

/** What everything else stands on. */
interface Base {
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

async function openBase(config: Config, options: ComposeOptions, life: CleanupStack): Promise<Base> {
  const clock = new SystemClock();
  const ids = new RandomIdSource();
  const identity = await loadServiceIdentity(config.storage.directory);
  const mask = new SecretMask([...collectSecrets(config), identity.linkSecret]);
  const logger = new PinoLogger({ level: config.log.level, mask, destination: options.logDestination });
  const stores = life.use(await openSqlStores(openSqlite(`sqlite:${config.storage.database.path}`)));
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

function buildBackend(config: Config, base: Base): DockerBoxBackend {
  const { boxes, storage } = config;
  const [engine] = boxes.engines;
  const connection = parseEngineAddress(engine?.host ?? "");
  const directory = join(storage.directory, "workspaces");
  const reserve = new HostReserve({
    places: [storage.directory],
    reserveMib: boxes.disk_reserve_mb,
    elapsed: () => base.clock.elapsed(),
  });
  return new DockerBoxBackend({
    ...base,
    connection,
    quota: {
      mode: boxes.quota,
      entries: boxes.workspace_entries,
      image: boxes.image,
      volumes: connection.socketPath === undefined ? null : new LoopVolumes({ directory }),
      reserve: connection.socketPath === undefined ? null : reserve,
    },
    engine: engine?.name ?? "local",
    helper: new BoxdHelper({ ...base, image: HELPER_IMAGE, broker: buildBroker(config, base) }),
    mounts: toMountRules(config, connection.socketPath),
    socketDirectory: join(storage.directory, "run"),
  });
}

/** Null where no box has a network. */
function buildBroker(config: Config, base: Base): HttpEgressBroker | null {
  const settings = toEgressSettings(config);
  return settings === null ? null : new HttpEgressBroker({ ...base, ...settings });
}

function buildBoxes(config: Config, base: Base, backend: BoxBackend): BoxService {
  return new BoxService(
    { ...base, backend, sessions: base.stores.sessions },
    {
      enabled: config.boxes.enabled,
      settings: toBoxSettings(config),
      profile: config.boxes.profile,
      maxBoxes: config.boxes.max_boxes,
      pauseAfterSec: config.boxes.pause_after_sec,
      idleTtlSec: toIdleTtlSec(config),
      removeAfterSec: config.boxes.remove_after_sec,
      warmPool: config.boxes.warm_pool,
      requiredReuseKey: config.boxes.required_reuse_key,
      workspaceTtlDays: config.boxes.workspace_ttl_days,
    },
  );
}

/** Forgets old records of jobs and ends terminals that nobody uses. */
function lookAfterProcesses(jobs: Jobs, terminals: Terminals, logger: Logger): PeriodicTask {
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

interface RunParts {
  readonly base: Base;
  readonly boxes: BoxService;
  readonly jobs: Jobs;
  readonly models: ReadonlyMap<string, ChatModel>;
  readonly version: string;
}

function buildRuns(config: Config, { base, boxes, jobs, models, version }: RunParts): ServeRuns {
  const { stores } = base;
  const { workspaceMode } = toBoxSettings(config);
  const tools = nativeTools({ outputChars: config.exec.output_chars, mask: base.mask });
  const plan: PlanDeps = {
    pipelines: toPipelines(config.default_pipeline, config.pipelines),
    runners: new RunnerRegistry(bundledRunners(base)),
    offer: {
      models: toModelFacts(config.models),
      tools: offerNativeTools(tools, { boxesEnabled: config.boxes.enabled, workspaceMode }),
    },
  };
  const shared = { ...base, ...stores, events: new LocalRunEvents(), active: new ActiveRuns() };
  base.metrics.observe("runs_active", () => shared.active.size);
  base.metrics.observe("boxes_awake", () => boxes.awakeCount);
  const box: RunBoxDeps = {
    ...shared,
    boxes,
    jobs,
    outbound: new GuardedFetch({ allowedPrivateHosts: config.outbound.allowed_private_hosts }),
    sniffMimeType,
    exportLocks: new KeyedLock(),
    ...toFileLimits(config),
  };
  const orchestrator = new Orchestrator({
    ...shared,
    plan,
    host: {
      ...shared,
      models,
      nativeTools: new Map(tools.map((tool) => [tool.name, tool])),
      box,
      toolTimeoutMs: config.tools.call_timeout_sec * 1000,
    },
    settings: {
      deadlineSec: config.runs.deadline_sec,
      hostVersion: version,
      maxFileBytes: config.export.max_file_bytes,
      // Of the host; where a box may write nothing, the tool that exports is not offered (box §10.2).
      canExport: true,
    },
  });
  const prepare = { ...shared, sniffMimeType, maxFileBytes: config.inbound.max_file_bytes };
  return new ServeRuns({
    ...shared,
    admit: { ...shared, plan, prepare, boxes },
    keys: stores.idempotency,
    orchestrator,
  });
}

function endLostRuns(runs: ServeRuns, logger: Logger): PeriodicTask {
  return new PeriodicTask({
    everyMs: END_LOST_EVERY_MS,
    work: () => runs.endLost(),
    onError: (error) =>
      logger.error({ code: toServiceError(error).code }, "The end of a run could not be written yet.", error),
  });
}

function sweepOldData(config: Config, files: FileService, base: Base): PeriodicTask {
  const { clock, logger, stores } = base;
  const retentionMs = config.storage.retention_days * DAY_MS;
  return new PeriodicTask({
    everyMs: SWEEP_EVERY_MS,
    work: (signal) => sweepRetention({ runs: stores.runs, files }, clock.now() - retentionMs, { signal }),
    onError: (error) =>
      logger.error({ code: toServiceError(error).code }, "Old files could not be removed.", error),
  });
}

function toModels(config: Config, standIns: ComposeOptions["models"]): ReadonlyMap<string, ChatModel> {
  const configured = config.models.map((model): [string, ChatModel] => [
    model.id,
    new OpenAiChatModel(toModelSettings(model)),
  ]);
  return new Map([[DEMO_MODEL_ID, new DemoModel()], ...configured, ...(standIns ?? [])]);
}
