/** A saved pairing of a pipeline with a runner and its config (runs §5). */
import { z } from "zod";
import type { RunWarning } from "./result.js";
import type { StateSettings } from "./state.js";
import { toolSourceSchema } from "./tool.js";

/** Runner config as it is written: checked by the runner itself, walked by the host through the runner's schema. */
export const runnerConfigSchema = z.record(z.string(), z.unknown());
export type RunnerConfig = z.infer<typeof runnerConfigSchema>;

const names = z.array(z.string());

/** What a pipeline lets its runner use, besides what the runner config selects (runs §15.2). */
export const resourcePolicySchema = z.strictObject({
  allowed_model_uuids: names.default([]).describe("Models besides those that the runner config selects."),
  allowed_tool_names: names
    .nullable()
    .default(null)
    .describe(
      "Tools that may be used: native ones by name, those of others as `mcp:<server>/<tool>` or `plugin:<package>/<tool>`, where `*` stands for every tool of the source; null = every one.",
    ),
  allowed_tool_sources: z
    .array(toolSourceSchema)
    .nullable()
    .default(null)
    .describe(
      "Sources that tools may come from, as `{source: mcp, source_id: docs}`; native tools are of `{source: native, source_id: berth}`. Null = every one.",
    ),
  allow_all_tools: z
    .boolean()
    .default(true)
    .describe("Whether a runner config may ask for every tool instead of selecting single ones."),
  allowed_kb_uuids: names
    .default([])
    .describe("Knowledge bases besides those that the runner config selects."),
  allowed_skill_names: names.nullable().default(null).describe("Skills that may be seen; null = every one."),
  allow_plugin_storage: z
    .boolean()
    .default(true)
    .describe("Whether the runner may keep values of its package."),
  allow_workspace_storage: z
    .boolean()
    .default(false)
    .describe("Whether it may keep values that all of the tenant's runners share."),
  administrator: z
    .boolean()
    .default(false)
    .describe("Whether the runner may look at, stop and annotate every run of the tenant."),
});
export type ResourcePolicy = z.infer<typeof resourcePolicySchema>;

/** What a user is shown of an error that is not the runner's own (runs §21.6). */
export const EXCEPTION_HANDLING = ["show-error", "show-hint", "hide"] as const;
export type ExceptionHandling = (typeof EXCEPTION_HANDLING)[number];

/** Where the config of a binding was found (runs §5.3). */
export type ConfigSource = "id" | "alias" | "legacy" | "none";

export interface Binding {
  readonly pipeline: string;
  /** As written in the config, an old name as `builtin:<name>`; null = the pipeline selects none. */
  readonly runnerId: string | null;
  readonly config: RunnerConfig;
  readonly configSource: ConfigSource;
  /** Seconds of silence after which a conversation is over; 0 = never (runs §5.7). */
  readonly expireSec: number;
  /** What whoever reads a run of it should know of the way it is written. */
  readonly warnings: readonly RunWarning[];
  readonly policy: ResourcePolicy;
  readonly state: StateSettings;
  /** Seconds; null = the default of runs §19.1. */
  readonly deadlineSec: number | null;
}
