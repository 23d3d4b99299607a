/** Runs: which pipelines, models and tools there are, and the one execution path over them. */
import { randomUUID } from "node:crypto";
import { DemoModel } from "../adapters/demo/demo-model.js";
import { sniffMimeType } from "../adapters/file-types/sniff-mime-type.js";
import { OpenAiChatModel } from "../adapters/openai/openai-chat-model.js";
import { OpenAiReranker } from "../adapters/openai/openai-reranker.js";
import { TracedChatModel } from "../adapters/opentelemetry/traced-chat-model.js";
import { GuardedFetch } from "../adapters/outbound/guarded-fetch.js";
import { LocalRunEvents } from "../adapters/system/local-run-events.js";
import type { BoxService } from "../box/box-service.js";
import type { Jobs } from "../box/jobs.js";
import type { Config } from "../config/config-schema.js";
import { DEMO_MODEL_ID, modelsOfType } from "../config/model-settings.js";
import { KeyedLock } from "../lib/keyed-lock.js";
import type { ChatModel } from "../ports/chat-model.js";
import type { PluginPackages } from "../ports/plugin-packages.js";
import type { Reranker } from "../ports/reranker.js";
import { bundledRunners } from "../runners/index.js";
import { ActiveRuns } from "../runs/active-runs.js";
import type { RunBoxDeps } from "../runs/host/run-box.js";
import { Orchestrator } from "../runs/orchestrator.js";
import type { PlanDeps } from "../runs/plan-run.js";
import { PluginListeners } from "../runs/plugin-listeners.js";
import { RunnerRegistry } from "../runs/runner-registry.js";
import { ServeRuns } from "../runs/serve-runs.js";
import { SteeringEnds } from "../runs/steering-ends.js";
import type { ToolCatalog } from "../tools/tool-catalog.js";
import {
  toBotPackages,
  toFileLimits,
  toModelFacts,
  toModelSettings,
  toPipelines,
  toTenants,
} from "./feature-settings.js";
import type { Base } from "./open-base.js";

/** What runs stand on besides the configuration. */
export interface RunParts {
  readonly base: Base;
  readonly boxes: BoxService;
  readonly jobs: Jobs;
  readonly models: ReadonlyMap<string, ChatModel>;
  /** Null = packages are switched off. */
  readonly packages: PluginPackages | null;
  readonly catalog: ToolCatalog;
  readonly version: string;
}

export interface BuiltRuns {
  readonly runs: ServeRuns;
  readonly runners: RunnerRegistry;
}

/** The execution path that every surface shares. */
export function buildRuns(
  config: Config,
  { base, boxes, jobs, models, packages, catalog, version }: RunParts,
): BuiltRuns {
  const { stores } = base;
  const runners = new RunnerRegistry({
    bundled: bundledRunners(base),
    packages,
    logger: base.logger,
  });
  const plan: PlanDeps = {
    pipelines: toPipelines(config.default_pipeline, config.pipelines),
    runners,
    bots: toBotPackages(config.bots),
    catalog,
    offer: {
      models: toModelFacts(config.models),
      knowledgeBases: new Map(),
      skills: [],
    },
  };
  const tenants = toTenants(config);
  const shared = {
    ...base,
    ...stores,
    events: new LocalRunEvents(),
    active: new ActiveRuns(),
    steeringEnds: new SteeringEnds({ hasChat: ({ tenant }) => tenants.has(tenant) }),
  };
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
  const prepare = { ...shared, sniffMimeType, maxFileBytes: config.inbound.max_file_bytes };
  const listeners = new PluginListeners({ ...shared, packages, runners, bots: plan.bots, prepare });
  const orchestrator = new Orchestrator({
    ...shared,
    plan,
    listeners,
    host: {
      ...shared,
      models,
      catalog,
      rerankers: buildRerankers(config),
      knowledgeBases: new Map(),
      box,
      cancelRun: (tenant, id, options) => runs.cancel({ tenant, role: "client" }, id, options),
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
  const runs: ServeRuns = new ServeRuns({
    ...shared,
    admit: { ...shared, plan, prepare, boxes },
    keys: stores.idempotency,
    orchestrator,
    worker: randomUUID(),
  });
  return { runs, runners };
}

/** The configured models and the offline one. @param standIns take the place of those with the same id */
export function buildModels(
  config: Config,
  standIns: ReadonlyMap<string, ChatModel> = new Map(),
): ReadonlyMap<string, ChatModel> {
  const configured = modelsOfType(config, "llm").map((model): [string, ChatModel] => [
    model.id,
    new TracedChatModel({ model: new OpenAiChatModel(toModelSettings(model)), modelId: model.id }),
  ]);
  return new Map([[DEMO_MODEL_ID, new DemoModel()], ...configured, ...standIns]);
}

function buildRerankers(config: Config): ReadonlyMap<string, Reranker> {
  return new Map(
    modelsOfType(config, "rerank").map((model) => [model.id, new OpenAiReranker(toModelSettings(model))]),
  );
}
