/** The whole of `src/runs` over stores in memory, a fake engine and scripted runners: what compose builds, for unit tests. */
import { type MemoryStores, openMemoryStores } from "../../src/adapters/memory/open-memory-stores.js";
import { LocalRunEvents } from "../../src/adapters/system/local-run-events.js";
import type { HandLease } from "../../src/box/box-lease.js";
import { BoxService, type LeaseOptions } from "../../src/box/box-service.js";
import { Jobs } from "../../src/box/jobs.js";
import { Terminals } from "../../src/box/terminals.js";
import type { BoxSettings } from "../../src/domain/box.js";
import type { RunId } from "../../src/domain/ids.js";
import type { Message } from "../../src/domain/message.js";
import type { RunEvent } from "../../src/domain/run.js";
import type { SessionRecord } from "../../src/domain/session.js";
import { KeyedLock } from "../../src/lib/keyed-lock.js";
import { SecretMask } from "../../src/lib/secret-mask.js";
import type { ChatModel } from "../../src/ports/chat-model.js";
import type { KnowledgeBase } from "../../src/ports/knowledge-base.js";
import type { PluginPackages } from "../../src/ports/plugin-packages.js";
import type { Reranker } from "../../src/ports/reranker.js";
import type { RunRecord } from "../../src/ports/run-store.js";
import type { Runner } from "../../src/ports/runner.js";
import type { NativeTool } from "../../src/ports/tool.js";
import type { ToolSource } from "../../src/ports/tool-source.js";
import { ActiveRuns } from "../../src/runs/active-runs.js";
import type { ModelFacts } from "../../src/runs/authorise-models.js";
import type { HostDeps } from "../../src/runs/host/create-run-host.js";
import { Orchestrator } from "../../src/runs/orchestrator.js";
import type { PlanDeps } from "../../src/runs/plan-run.js";
import { PluginListeners } from "../../src/runs/plugin-listeners.js";
import type { Pipeline } from "../../src/runs/resolve-binding.js";
import { RunnerRegistry } from "../../src/runs/runner-registry.js";
import { ServeRuns } from "../../src/runs/serve-runs.js";
import { SteeringEnds } from "../../src/runs/steering-ends.js";
import { NativeToolSource } from "../../src/tools/native-source.js";
import { ToolCatalog } from "../../src/tools/tool-catalog.js";
import { CountingIds } from "../fakes/counting-ids.js";
import { FakeBoxBackend } from "../fakes/fake-box-backend.js";
import { FakeClock } from "../fakes/fake-clock.js";
import { FakeMetrics } from "../fakes/fake-metrics.js";
import { FakeOutboundFetch } from "../fakes/fake-outbound-fetch.js";
import { KeptLogger } from "../fakes/kept-logger.js";
import { ScriptedRunner } from "../fakes/scripted-runner.js";
import { anOffer, aPipeline, modelsOf, pipelinesOf } from "./builders.js";

export interface WorldOptions {
  readonly runner?: Runner;
  /** Packages of others; none if not given. */
  readonly packages?: PluginPackages;
  /** Allowed packages by bot id. */
  readonly bots?: Readonly<Record<string, readonly string[] | null>>;
  readonly pipelines?: readonly Pipeline[];
  readonly models?: readonly ModelFacts[];
  readonly chatModels?: ReadonlyMap<string, ChatModel>;
  readonly rerankers?: ReadonlyMap<string, Reranker>;
  readonly knowledgeBases?: ReadonlyMap<string, KnowledgeBase>;
  readonly tools?: readonly NativeTool[];
  /** Sources of tools besides the service itself. */
  readonly sources?: readonly ToolSource[];
  readonly backend?: FakeBoxBackend;
  readonly outbound?: FakeOutboundFetch;
  readonly boxesEnabled?: boolean;
  readonly workspaceMode?: BoxSettings["workspaceMode"];
  /** That a run may choose. */
  readonly allowedImages?: readonly string[];
  readonly deadlineSec?: number;
  readonly toolTimeoutMs?: number;
  readonly stores?: MemoryStores;
  readonly secrets?: readonly string[];
  /** Name of the process in the ledger. */
  readonly worker?: string;
  /** False where other processes work with the same stores. */
  readonly isExclusive?: boolean;
  readonly hasChat?: (run: RunRecord) => boolean;
  readonly clock?: FakeClock;
  readonly ids?: CountingIds;
}

export interface RunWorld extends AsyncDisposable {
  readonly stores: MemoryStores;
  readonly clock: FakeClock;
  readonly logger: KeptLogger;
  readonly metrics: FakeMetrics;
  readonly backend: FakeBoxBackend;
  readonly boxes: BoxService;
  readonly active: ActiveRuns;
  readonly plan: PlanDeps;
  readonly host: HostDeps;
  readonly orchestrator: Orchestrator;
  readonly jobs: Jobs;
  readonly terminals: Terminals;
  readonly serve: ServeRuns;
  /** Stores a run and executes it. @returns its record as it stands then */
  execute(run: RunRecord): Promise<RunRecord>;
  record(id: RunId): Promise<RunRecord>;
  eventsOf(id: RunId): Promise<readonly RunEvent[]>;
  /** Messages of a conversation, oldest first. */
  transcriptOf(conversation: string): Promise<readonly { message: Message; partial: boolean }[]>;
}

export const BOX_SETTINGS: BoxSettings = {
  image: "any",
  cpus: 1,
  memoryMb: 512,
  pidsLimit: 128,
  readOnlyRootfs: true,
  network: "none",
  workspaceMode: "rw",
  workspaceQuotaMb: 0,
  execTimeoutSec: 30,
  execMaxTimeoutSec: 300,
  runtime: null,
  extraMounts: [],
  env: {},
};

export const NEVER = new AbortController().signal;
const MIB = 1024 * 1024;

export function aRunWorld(options: WorldOptions = {}): RunWorld {
  const clock = options.clock ?? new FakeClock();
  const stores = options.stores ?? openMemoryStores({ clock });
  const base = {
    clock,
    ids: options.ids ?? new CountingIds(),
    logger: new KeptLogger(),
    metrics: new FakeMetrics(),
    events: new LocalRunEvents(),
    active: new ActiveRuns(),
    steeringEnds: new SteeringEnds({ hasChat: options.hasChat ?? (() => true) }),
    mask: new SecretMask(options.secrets ?? []),
    ...stores,
  };
  const backend = options.backend ?? new FakeBoxBackend();
  const boxes = new BoxService(
    { ...base, backend },
    {
      enabled: options.boxesEnabled ?? true,
      settings: { ...BOX_SETTINGS, workspaceMode: options.workspaceMode ?? "rw" },
      profile: "default",
      maxBoxes: 8,
      pauseAfterSec: 0,
      idleTtlSec: 300,
      removeAfterSec: 0,
      warmPool: 0,
      workspaceTtlDays: 14,
      allowedImages: options.allowedImages,
    },
  );
  const lease = (session: SessionRecord, call: LeaseOptions): Promise<HandLease> =>
    boxes.lease(session, call);
  const jobs = new Jobs({ ...base, lease }, { maxRunning: 8, maxEnded: 8, endedTtlSec: 300 });
  const terminals = new Terminals({ ...base, lease }, { maxOpen: 8 });
  const plan = aPlan(options, base.logger);
  const host: HostDeps = {
    ...base,
    ...aHost(options),
    catalog: plan.catalog,
    cancelRun: (tenant, id, call) => serve.cancel({ tenant, role: "client" }, id, call),
    box: { ...base, boxes, jobs, ...boxParts(options) },
  };
  const prepare = { ...base, sniffMimeType: sniffByName, maxFileBytes: 10 * MIB };
  const listeners = new PluginListeners({ ...base, ...plan, packages: options.packages ?? null, prepare });
  const orchestrator = new Orchestrator({
    ...base,
    plan,
    listeners,
    host,
    settings: {
      deadlineSec: options.deadlineSec ?? 300,
      hostVersion: "1.2.3",
      maxFileBytes: 10 * MIB,
      canExport: (options.workspaceMode ?? "rw") === "rw",
    },
  });
  const serve: ServeRuns = new ServeRuns({
    ...base,
    admit: { ...base, plan, prepare, boxes },
    keys: stores.idempotency,
    orchestrator,
    worker: options.worker ?? "worker-1",
    isExclusive: options.isExclusive ?? true,
  });
  return {
    ...base,
    stores,
    backend,
    boxes,
    jobs,
    terminals,
    plan,
    host,
    orchestrator,
    serve,
    ...readers(stores, orchestrator),
    ...closing(serve, boxes),
  };
}

function aPlan(options: WorldOptions, logger: KeptLogger): PlanDeps & Pick<HostDeps, "catalog"> {
  const native = new NativeToolSource(options.tools ?? [], {
    boxesEnabled: options.boxesEnabled ?? true,
    workspaceMode: options.workspaceMode ?? "rw",
  });
  const bases = [...(options.knowledgeBases?.keys() ?? [])];
  const offer = anOffer({
    models: modelsOf(...(options.models ?? [])),
    knowledgeBases: new Map(bases.map((id) => [id, { id, name: id }])),
  });
  return {
    pipelines: pipelinesOf(...(options.pipelines ?? [aPipeline()])),
    runners: new RunnerRegistry({
      bundled: [options.runner ?? new ScriptedRunner()],
      packages: options.packages ?? null,
      logger,
    }),
    bots: new Map(Object.entries(options.bots ?? {})),
    offer,
    catalog: new ToolCatalog({ sources: [native, ...(options.sources ?? [])], logger }),
  };
}

function aHost(
  options: WorldOptions,
): Pick<HostDeps, "models" | "rerankers" | "knowledgeBases" | "toolTimeoutMs"> {
  return {
    models: options.chatModels ?? new Map<string, ChatModel>(),
    rerankers: options.rerankers ?? new Map<string, Reranker>(),
    knowledgeBases: options.knowledgeBases ?? new Map<string, KnowledgeBase>(),
    toolTimeoutMs: options.toolTimeoutMs ?? 120_000,
  };
}

function boxParts(options: WorldOptions) {
  return {
    outbound: options.outbound ?? new FakeOutboundFetch(),
    sniffMimeType: sniffByName,
    exportLocks: new KeyedLock<RunId>(),
    importLimits: {
      maxFileBytes: 10 * MIB,
      maxFiles: 20,
      maxTotalBytes: 50 * MIB,
      urlTimeoutMs: 30_000,
    },
    exportLimits: { maxFileBytes: 10 * MIB, maxFiles: 100, maxTotalBytes: 50 * MIB },
  };
}

/** Enough of a type for tests: the extension decides. */
export async function sniffByName(name: string): Promise<string> {
  if (name.endsWith(".png")) return "image/png";
  return name.endsWith(".txt") || name.endsWith(".csv") ? "text/plain" : "application/octet-stream";
}

function readers(
  stores: MemoryStores,
  orchestrator: Orchestrator,
): Pick<RunWorld, "execute" | "record" | "eventsOf" | "transcriptOf"> {
  const record = async (id: RunId): Promise<RunRecord> => {
    const tenants = ["main", "other"];
    for (const tenant of tenants) {
      const found = await stores.runs.get(tenant, id);
      if (found !== null) return found;
    }
    throw new Error(`There is no run ${id}.`);
  };
  return {
    record,
    execute: async (run) => {
      await stores.runs.create(run);
      await orchestrator.execute(run);
      return record(run.id);
    },
    eventsOf: (id) => stores.runs.eventsAfter(id, 0, 1_000_000),
    transcriptOf: async (conversation) => {
      const page = { direction: "forward" as const, from: null, limit: 1000 };
      const items = await stores.transcripts.page("main", conversation, page);
      return items.map(({ message, partial }) => ({ message, partial }));
    },
  };
}

function closing(serve: ServeRuns, boxes: BoxService): AsyncDisposable {
  return {
    [Symbol.asyncDispose]: async () => {
      await serve.stop(0);
      await boxes[Symbol.asyncDispose]();
    },
  };
}
