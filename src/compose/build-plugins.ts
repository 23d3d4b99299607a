/** Packages of others, each in a process of its own. */
import { ChildPluginPackages } from "../adapters/plugins/child-plugin-packages.js";
import type { Config } from "../config/config-schema.js";
import { hostActions } from "../runs/host/host-actions.js";
import type { Base } from "./open-base.js";

/** Null where packages are switched off. */
export function buildPlugins({ plugins }: Config, { clock, logger }: Base): ChildPluginPackages | null {
  if (!plugins.enabled) return null;
  return new ChildPluginPackages({
    clock,
    logger,
    actions: hostActions,
    settings: {
      directory: plugins.directory,
      execPath: plugins.execPath,
      environment: plugins.baseEnvironment,
      packageEnvironment: plugins.environment,
      memoryMb: plugins.memory_mb,
      startMs: plugins.start_timeout_sec * 1000,
      hangMs: plugins.heartbeat_sec * 1000,
      eventMs: plugins.event_timeout_sec * 1000,
    },
  });
}
