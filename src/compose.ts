/** Builds adapters and hands them to features: the only place that knows all of them. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { DemoModel } from "./adapters/demo/demo-model.js";
import { DockerBoxBackend } from "./adapters/docker/docker-box-backend.js";
import { parseEngineAddress } from "./adapters/docker/engine-connection.js";
import { sniffMimeType } from "./adapters/file-types/sniff-mime-type.js";
import { FilesystemBlobStore } from "./adapters/filesystem/filesystem-blob-store.js";
import { loadServiceIdentity } from "./adapters/filesystem/service-identity.js";
import { OpenAiChatModel } from "./adapters/openai/openai-chat-model.js";
import type { OpenAiModelSettings } from "./adapters/openai/settings.js";
import { GuardedFetch } from "./adapters/outbound/guarded-fetch.js";
import { PinoLogger, type PinoLoggerDeps } from "./adapters/pino/pino-logger.js";
import { PrometheusMetrics } from "./adapters/prometheus/prometheus-metrics.js";
import { openSqlStores, type SqlStores } from "./adapters/sql/open-sql-stores.js";
import { openSqlite } from "./adapters/sqlite/open-sqlite.js";
import { LocalRunEvents } from "./adapters/system/local-run-events.js";
import { RandomIdSource } from "./adapters/system/random-id-source.js";
import { SystemClock } from "./adapters/system/system-clock.js";
import { resolveBoxSettings } from "./box/box-policy.js";
import { BoxService } from "./box/box-service.js";
import type { Config } from "./config/config-schema.js";
import { DEMO_MODEL_ID, type ModelConfig } from "./config/model-settings.js";
import type { PipelineConfig } from "./config/pipeline-settings.js";
import type { BoxSettings } from "./domain/box.js";
import { toServiceError } from "./domain/errors.js";
import { createApp, type HttpApp, type HttpSettings } from "./http/create-app.js";
import { listen } from "./http/listen.js";
import type { PartReadiness } from "./http/readiness.js";
import { CleanupStack } from "./lib/cleanup-stack.js";
import { KeyedLock } from "./lib/keyed-lock.js";
import { PeriodicTask } from "./lib/periodic-task.js";
import type { BlobStore } from "./ports/blob-store.js";
import type { BoxBackend } from "./ports/box-backend.js";
import type { ChatModel } from "./ports/chat-model.js";
import type { Clock } from "./ports/clock.js";
import type { IdSource } from "./ports/id-source.js";
import type { Logger } from "./ports/logger.js";
import type { CallOptions } from "./ports/options.js";
import { bundledRunners } from "./runners/index.js";
import { ActiveRuns } from "./runs/active-runs.js";
import type { ModelFacts } from "./runs/authorise-resources.js";
import { FileService } from "./runs/file-service.js";
import type { RunBoxDeps } from "./runs/host/run-box.js";
import { Orchestrator } from "./runs/orchestrator.js";
import type { PlanDeps } from "./runs/plan-run.js";
import { type Pipelines, resolveBinding } from "./runs/resolve-binding.js";
import { RunnerRegistry } from "./runs/runner-registry.js";
import { ServeRuns } from "./runs/serve-runs.js";
import { sweepRetention } from "./runs/sweep-retention.js";
import { nativeTools } from "./tools/native/index.js";
import { offerNativeTools } from "./tools/tool-catalog.js";

const packageSchema = z.object({ version: z.string() });

/** Version of the service, from its package. */
export const VERSION: string = readVersion();

/** Milliseconds for everything that asks an engine while the service starts. */
const START_MS = 30_000;
/** Milliseconds for answers that are on their way when the port closes. */
const LAST_ANSWERS_MS = 5_000;
const SWEEP_EVERY_MS = 3_600_000;
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

/** What a pipeline's runner has against its config; for the check of the configuration (runs §5.5). */
export function findRunnerFaults(pipeline: PipelineConfig): readonly string[] {
  const runners = new RunnerRegistry(bundledRunners({ clock: new SystemClock(), ids: new RandomIdSource() }));
  try {
    const config = resolveBinding(toPipelines(pipeline.id, [pipeline]), pipeline.id).config;
    return runners.get(pipeline.runner.id).findConfigFaults(config);
  } catch (error) {
    return [toServiceError(error).message];
  }
}

/** Builds the service and brings it to work: stores open, runs of a dead process closed, boxes reconciled. */
export async function compose(config: Config, options: ComposeOptions = {}): Promise<Composed> {
  await using life = new CleanupStack();
  const base = await openBase(config, options, life);
  const boxes = life.use(buildBoxes(config, base, options.backend));
  const runs = buildRuns(config, { base, boxes, models: toModels(config, options.models) });
  const files = new FileService({ ...base, files: base.stores.files, sniffMimeType });
  const sweep = life.use(sweepOldData(config, files, base));
  const http = createApp({
    ...base,
    runs,
    files,
    probeParts: (call) => probeParts({ config, boxes, stores: base.stores }, call),
    settings: toHttpSettings(config),
  });
  await boxes.start({ signal: AbortSignal.timeout(START_MS) });
  await runs.start();
  sweep.start();
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
    const listener = await listen(http.app, { host, port, streams: http.streams, ids });
    life.defer(() => listener.close(LAST_ANSWERS_MS));
    return listener.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.runs.stop(this.#parts.config.shutdown_grace_sec * 1000);
    await this.#parts.life[Symbol.asyncDispose]();
  }
}

/** What everything else stands on. */
interface Base {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: Logger;
  readonly metrics: PrometheusMetrics;
  readonly stores: SqlStores;
  readonly blobs: BlobStore;
  readonly serviceId: string;
  readonly linkSecret: string;
}

async function openBase(config: Config, options: ComposeOptions, life: CleanupStack): Promise<Base> {
  const clock = new SystemClock();
  const ids = new RandomIdSource();
  const keys = config.server.keys.map(({ key }) => key);
  const secrets = [...keys, ...config.models.flatMap(({ api_key }) => api_key ?? [])];
  const logger = new PinoLogger({ level: config.log.level, secrets, destination: options.logDestination });
  const identity = await loadServiceIdentity(config.storage.directory);
  const stores = life.use(await openSqlStores(openSqlite(`sqlite:${config.storage.database.path}`)));
  const blobs = new FilesystemBlobStore({ root: config.storage.files, clock, ids });
  await blobs.prepare();
  return {
    clock,
    ids,
    logger,
    metrics: new PrometheusMetrics({ ofProcess: true }),
    stores,
    blobs,
    ...identity,
  };
}

function buildBoxes(config: Config, base: Base, standIn: BoxBackend | undefined): BoxService {
  const [engine] = config.boxes.engines;
  const backend =
    standIn ??
    new DockerBoxBackend({
      ...base,
      connection: parseEngineAddress(engine?.host ?? ""),
      engine: engine?.name ?? "local",
    });
  return new BoxService(
    { ...base, backend, sessions: base.stores.sessions },
    {
      enabled: config.boxes.enabled,
      settings: toBoxSettings(config),
      maxBoxes: config.boxes.max_boxes,
      idleTtlSec: config.boxes.idle_ttl_sec,
      workspaceTtlDays: config.boxes.workspace_ttl_days,
    },
  );
}

interface RunParts {
  readonly base: Base;
  readonly boxes: BoxService;
  readonly models: ReadonlyMap<string, ChatModel>;
}

function buildRuns(config: Config, { base, boxes, models }: RunParts): ServeRuns {
  const { stores } = base;
  const { workspaceMode } = toBoxSettings(config);
  const tools = nativeTools({ outputChars: config.exec.output_chars });
  const facts = [...config.models.map(toModelFacts), DEMO_FACTS];
  const plan: PlanDeps = {
    pipelines: toPipelines(config.default_pipeline, config.pipelines),
    runners: new RunnerRegistry(bundledRunners(base)),
    offer: {
      models: new Map(facts.map((model) => [model.id, model])),
      tools: offerNativeTools(tools, { boxesEnabled: config.boxes.enabled, workspaceMode }),
    },
  };
  const shared = {
    ...base,
    ...stores,
    events: new LocalRunEvents(),
    active: new ActiveRuns(),
  };
  base.metrics.observe("runs_active", () => shared.active.size);
  const box: RunBoxDeps = {
    ...shared,
    boxes,
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
      hostVersion: VERSION,
      maxFileBytes: config.export.max_file_bytes,
      canExport: workspaceMode === "rw",
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

const DEMO_FACTS: ModelFacts = {
  id: DEMO_MODEL_ID,
  type: "llm",
  provider: "demo",
  abilities: ["func_call"],
  contextWindow: null,
  maxOutputTokens: null,
};

function toModelFacts(model: ModelConfig): ModelFacts {
  return {
    id: model.id,
    type: "llm",
    provider: new URL(model.base_url).host,
    abilities: model.abilities,
    contextWindow: model.context_window === 0 ? null : model.context_window,
    maxOutputTokens: model.max_output_tokens,
  };
}

function toModelSettings(model: ModelConfig): OpenAiModelSettings {
  return {
    baseUrl: model.base_url,
    apiKey: model.api_key,
    model: model.model,
    extraArgs: model.extra_args,
    abilities: model.abilities,
    maxOutputTokens: model.max_output_tokens,
    firstChunkMs: model.first_chunk_sec * 1000,
    idleMs: model.idle_sec * 1000,
  };
}

function toFileLimits({
  inbound,
  export: outgoing,
}: Config): Pick<RunBoxDeps, "importLimits" | "exportLimits"> {
  return {
    importLimits: {
      maxFileBytes: inbound.max_file_bytes,
      maxFiles: inbound.max_files,
      maxTotalBytes: inbound.max_total_bytes,
      urlTimeoutMs: inbound.url_timeout_sec * 1000,
    },
    exportLimits: {
      maxFileBytes: outgoing.max_file_bytes,
      maxFiles: outgoing.max_files,
      maxTotalBytes: outgoing.max_total_bytes,
    },
  };
}

function toModels(config: Config, standIns: ComposeOptions["models"]): ReadonlyMap<string, ChatModel> {
  const configured = config.models.map((model): [string, ChatModel] => [
    model.id,
    new OpenAiChatModel(toModelSettings(model)),
  ]);
  return new Map([[DEMO_MODEL_ID, new DemoModel()], ...configured, ...(standIns ?? [])]);
}

function toPipelines(defaultId: string, pipelines: readonly PipelineConfig[]): Pipelines {
  const byId = new Map(
    pipelines.map(({ id, runner, runner_config, policy, deadline }) => [
      id,
      { id, runnerId: runner.id, runnerConfigs: runner_config, policy, deadlineSec: deadline },
    ]),
  );
  return { defaultId, byId };
}

/** @throws ServiceError `box.validation` for limits that no box can have */
function toBoxSettings({ boxes }: Config): BoxSettings {
  return resolveBoxSettings(boxes.profile, {
    image: boxes.image,
    cpus: boxes.cpus,
    memoryMb: boxes.memory_mb,
    pidsLimit: boxes.pids_limit,
    readOnlyRootfs: boxes.read_only_rootfs,
    workspaceMode: boxes.workspace_mode,
    workspaceQuotaMb: boxes.workspace_mb,
    execTimeoutSec: boxes.exec_timeout_sec,
  });
}

function toHttpSettings({ server, limits, inbound }: Config): HttpSettings {
  return {
    version: VERSION,
    keys: server.keys,
    publicUrl: server.public_url,
    jsonBodyBytes: limits.json_body_bytes,
    requestsPerMinute: limits.requests_per_minute,
    runsPerMinute: limits.runs_per_minute,
    eventStreams: limits.event_streams,
    authFailuresPerMinute: limits.auth_failures_per_minute,
    inbound: {
      maxFileBytes: inbound.max_file_bytes,
      maxFiles: inbound.max_files,
      maxTotalBytes: inbound.max_total_bytes,
    },
  };
}

interface Probed {
  readonly stores: SqlStores;
  readonly boxes: BoxService;
  readonly config: Config;
}

/** Store, engine, image and models, each by itself (api §7). */
async function probeParts(
  { stores, boxes, config }: Probed,
  options: CallOptions,
): Promise<readonly PartReadiness[]> {
  const store = await stores.ping().then(
    () => null,
    () => "The database does not answer.",
  );
  const status = await boxes.status(options);
  const isWell = status.available || !status.enabled;
  return [
    { name: "store", ok: store === null, reason: store },
    { name: "boxes", ok: isWell, reason: isWell ? null : status.reason },
    { name: "models", ok: true, reason: config.models.length === 0 ? "Only the offline demo model." : null },
  ];
}

function readVersion(): string {
  const file = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return packageSchema.parse(JSON.parse(file)).version;
}
