/** A saved pairing of a pipeline with a runner and its config (runs §5). */
import { z } from "zod";

/** Runner config as it is written: checked by the runner itself, walked by the host through the runner's schema. */
export const runnerConfigSchema = z.record(z.string(), z.unknown());
export type RunnerConfig = z.infer<typeof runnerConfigSchema>;

/** What a pipeline lets its runner use, besides what the runner config selects (runs §15.2). */
export const resourcePolicySchema = z.strictObject({
  allowed_model_uuids: z
    .array(z.string())
    .default([])
    .describe("Models besides those that the runner config selects."),
  /** Null = every native tool; a list = only these. */
  allowed_tool_names: z
    .array(z.string())
    .nullable()
    .default(null)
    .describe("Native tools that may be used; null = every one."),
  allow_plugin_storage: z
    .boolean()
    .default(true)
    .describe("Whether the runner may keep values of its own. Read by later versions: this one keeps none."),
  allow_workspace_storage: z
    .boolean()
    .default(false)
    .describe("Whether it may keep values of the tenant. Read by later versions: this one keeps none."),
});
export type ResourcePolicy = z.infer<typeof resourcePolicySchema>;

export interface Binding {
  readonly pipeline: string;
  /** As written in the config. */
  readonly runnerId: string;
  readonly config: RunnerConfig;
  readonly configSource: "id" | "alias" | "legacy" | "none";
  readonly policy: ResourcePolicy;
  /** Seconds; null = the default of runs §19.1. */
  readonly deadlineSec: number | null;
}
