/** Makes the working configuration of checked settings: models and pipelines filled in, paths made absolute (api §8). */
import { resolve } from "node:path";
import { resourcePolicySchema } from "../domain/binding.js";
import { stateSettingsSchema } from "../domain/state.js";
import type { Config, Settings, StorageConfig } from "./config-schema.js";
import type { Environment } from "./interpolate.js";
import { DEMO_MODEL_ID, modelsOfType } from "./model-settings.js";
import type { PipelineConfig } from "./pipeline-settings.js";
import { packageEnvironment } from "./plugin-settings.js";

const LOCAL_AGENT = "plugin:berth/local-agent/default";

export interface CompletedConfig {
  readonly config: Config;
  /** What must be said plainly at start, one sentence each. */
  readonly notices: readonly string[];
}

/** @param workingDirectory absolute; relative paths of the settings are taken from it */
export function completeConfig(
  settings: Settings,
  environment: Environment,
  workingDirectory: string,
): CompletedConfig {
  const { models } = settings;
  const first = modelsOfType(settings, "llm")[0]?.id ?? DEMO_MODEL_ID;
  const pipelines = settings.pipelines.length > 0 ? settings.pipelines : [defaultPipeline(first)];
  return {
    config: {
      server: settings.server,
      limits: settings.limits,
      storage: resolveStorage(settings.storage, workingDirectory),
      models,
      boxes: settings.boxes,
      default_pipeline: settings.default_pipeline,
      pipelines,
      bots: settings.bots,
      grants: settings.grants,
      inbound: settings.inbound,
      export: settings.export,
      exec: settings.exec,
      jobs: settings.jobs,
      tools: settings.tools,
      mcp_servers: settings.mcp_servers,
      webhooks: settings.webhooks,
      runs: settings.runs,
      outbound: settings.outbound,
      log: settings.log,
      plugins: {
        ...settings.plugins,
        directory: resolve(workingDirectory, settings.plugins.directory),
        execPath: process.execPath,
        baseEnvironment: packageEnvironment(environment),
      },
      shutdown_grace_sec: settings.shutdown_grace_sec,
      compat: settings.compat,
    },
    notices: modelsOfType(settings, "llm").length > 0 ? [] : [demoNotice(environment)],
  };
}

function resolveStorage(storage: Settings["storage"], workingDirectory: string): StorageConfig {
  const directory = resolve(workingDirectory, storage.directory);
  const database = storage.database?.slice("sqlite:".length) ?? resolve(directory, "berth.db");
  return {
    directory,
    database: { kind: "sqlite", path: resolve(workingDirectory, database) },
    files: resolve(workingDirectory, storage.files ?? resolve(directory, "files")),
    retention_days: storage.retention_days,
  };
}

function defaultPipeline(primary: string): PipelineConfig {
  return {
    id: "default",
    runner: { id: LOCAL_AGENT },
    runner_config: {
      [LOCAL_AGENT]: {
        model: { primary, fallbacks: [], reasoning: {} },
        "box-session-id-template": "{launcher_type}_{launcher_id}",
      },
    },
    policy: resourcePolicySchema.parse({}),
    state: stateSettingsSchema.parse({}),
    deadline: null,
    "exception-handling": "show-hint",
    events: ["message.received"],
  };
}

function demoNotice(environment: Environment): string {
  const keyless = environment["OPENAI_BASE_URL"] ? " OPENAI_BASE_URL alone is not enough." : "";
  return `No model is configured, so the offline demo model answers: it runs code blocks and does not reason. Set OPENAI_API_KEY or list models in the configuration.${keyless}`;
}
