/** What each feature takes from the configuration: the file's words and units become theirs. Pure. */

import type { MountRules } from "../adapters/docker/mount-sources.js";
import type { EgressSettings } from "../adapters/egress/http-egress-broker.js";
import type { OpenAiModelSettings } from "../adapters/openai/settings.js";
import { resolveBoxSettings } from "../box/box-policy.js";
import type { JobsSettings } from "../box/jobs.js";
import type { Config } from "../config/config-schema.js";
import { DEMO_MODEL_ID, type ModelConfig } from "../config/model-settings.js";
import { bindingOf, type PipelineConfig } from "../config/pipeline-settings.js";
import { resolveBindingConfig } from "../domain/binding-config.js";
import type { BoxSettings } from "../domain/box.js";
import { EgressRules } from "../domain/egress-rules.js";
import { MAIN_TENANT } from "../domain/ids.js";
import type { HttpSettings } from "../http/create-app.js";
import type { ModelFacts } from "../runs/authorise-models.js";
import type { RunBoxDeps } from "../runs/host/run-box.js";
import type { BotPackages } from "../runs/plan-run.js";
import type { Pipelines } from "../runs/resolve-binding.js";

const MIB = 1024 * 1024;
/** Idle time of persistent boxes. */
const PERSISTENT_SEC = 7 * 86_400;

const DEMO_FACTS: ModelFacts = {
  id: DEMO_MODEL_ID,
  type: "llm",
  provider: "demo",
  abilities: ["func_call"],
  contextWindow: null,
  maxOutputTokens: null,
};

/** Of every model that a pipeline may select, the offline one among them. */
export function toModelFacts(models: readonly ModelConfig[]): ReadonlyMap<string, ModelFacts> {
  return new Map([...models.map(describeModel), DEMO_FACTS].map((facts) => [facts.id, facts]));
}

function describeModel(model: ModelConfig): ModelFacts {
  return {
    id: model.id,
    type: model.type,
    provider: new URL(model.base_url).host,
    abilities: model.type === "llm" ? model.abilities : [],
    contextWindow: model.context_window === 0 ? null : model.context_window,
    maxOutputTokens: model.max_output_tokens,
  };
}

export function toModelSettings(model: ModelConfig): OpenAiModelSettings {
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

export function toFileLimits({
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

export function toJobsSettings({ jobs }: Config): JobsSettings {
  return { maxRunning: jobs.max_running, maxEnded: jobs.max_ended, endedTtlSec: jobs.ended_ttl_sec };
}

export function toPipelines(defaultId: string, pipelines: readonly PipelineConfig[]): Pipelines {
  const byId = new Map(
    pipelines.map((pipeline) => {
      const { id, policy, state, deadline, events, "exception-handling": exceptionHandling } = pipeline;
      const binding = resolveBindingConfig(bindingOf(pipeline));
      return [id, { id, ...binding, policy, state, deadlineSec: deadline, exceptionHandling, events }];
    }),
  );
  return { defaultId, byId };
}

export function toBotPackages(bots: Config["bots"]): BotPackages {
  return new Map(bots.map(({ id, allowed_plugins }) => [id, allowed_plugins]));
}

/** @throws ServiceError `box.validation` for limits that no box can have */
export function toBoxSettings({ boxes }: Config): BoxSettings {
  return resolveBoxSettings(boxes.profile, {
    image: boxes.image,
    network: boxes.network,
    cpus: boxes.cpus,
    memoryMb: boxes.memory_mb,
    pidsLimit: boxes.pids_limit,
    readOnlyRootfs: boxes.read_only_rootfs,
    workspaceMode: boxes.workspace_mode,
    workspaceQuotaMb: boxes.workspace_mb,
    execTimeoutSec: boxes.exec_timeout_sec,
    runtime: boxes.runtime,
    extraMounts: boxes.extra_mounts.map(({ source, target, read_only: readOnly }) => ({
      source,
      target,
      readOnly,
    })),
    env: boxes.env,
  });
}

/** What the broker lets boxes do; null where no box has a network. */
export function toEgressSettings(config: Config): EgressSettings | null {
  if (toBoxSettings(config).network === "none") return null;
  const { egress } = config.boxes;
  return {
    rules: new EgressRules({ allowHosts: egress.allow_hosts, privateHosts: egress.private_hosts }),
    secretHeaders: egress.secret_headers,
    limits: {
      maxConnections: egress.max_connections,
      maxBytesPerHour: egress.max_mb_per_hour * MIB,
      connectionMs: egress.connection_sec * 1000,
      idleMs: egress.idle_sec * 1000,
    },
  };
}

/** Where extra mounts may come from, and what must not get into a box with them. */
export function toMountRules({ boxes, storage }: Config, engineSocket: string | undefined): MountRules {
  const own = [storage.directory, storage.files, storage.database.path];
  return {
    allowedRoots: boxes.allowed_mount_roots,
    ownPlaces: engineSocket === undefined ? own : [engineSocket, ...own],
  };
}

/** Seconds; a persistent box waits longer, unless boxes are never rested anyway (box §11.2). */
export function toIdleTtlSec({ boxes }: Config): number {
  return boxes.persistent && boxes.idle_ttl_sec > 0
    ? Math.max(PERSISTENT_SEC, boxes.idle_ttl_sec)
    : boxes.idle_ttl_sec;
}

export function toHttpSettings({ server, limits, inbound }: Config, version: string): HttpSettings {
  return {
    version,
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

/** Whose requests are taken: the tenants of the keys, and the one of a service without keys. */
export function toTenants({ server }: Config): ReadonlySet<string> {
  return new Set([MAIN_TENANT, ...server.keys.map(({ tenant }) => tenant)]);
}
