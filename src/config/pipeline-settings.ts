/** Pipelines: named entries that hold a binding (runs §5). */
import { z } from "zod";
import { EXCEPTION_HANDLING, resourcePolicySchema } from "../domain/binding.js";
import { SERVED_EVENT_TYPES } from "../domain/event.js";
import { isPluginRunnerId, LEGACY_RUNNER_NAMES, parseRunnerId } from "../domain/runner-id.js";
import { stateSettingsSchema } from "../domain/state.js";

const runnerIdSchema = z
  .string()
  .max(512)
  .refine(isKnownForm)
  .meta({
    description: "The runner that answers.",
    allowed: `plugin:<author>/<plugin>/<runner>, builtin:<name>, or one of ${LEGACY_RUNNER_NAMES.join(", ")}`,
  });

export const pipelineSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
    .meta({
      description: "Name of the pipeline in requests.",
      allowed: "1 to 64 letters, digits, dots, underscores and dashes",
    }),
  runner: z
    .strictObject({
      id: runnerIdSchema.optional(),
      runner: runnerIdSchema
        .optional()
        .meta({ description: "The runner by its old key; `id` counts where both stand." }),
      "expire-time": z.unknown().optional().meta({
        description: "A conversation that was silent for longer begins anew; 0 = never.",
        allowed: "a whole number of at least 0; anything else counts as 0",
        unit: "s",
      }),
    })
    .optional()
    .meta({ description: "Which runner the pipeline is bound to; without one it answers nothing." }),
  runner_config: z.record(z.string().min(1), z.record(z.string(), z.unknown())).optional().meta({
    description:
      "Config of runners by runner id; the selected runner needs an entry. Of the local agent: [local-agent.md](local-agent.md).",
    allowed: "a group with one group of settings for each runner id",
  }),
  ai: z.record(z.string(), z.unknown()).optional().meta({
    description:
      "The binding as other hosts and older versions write it: `runner`, `runner_config` and blocks by the old names of runners.",
    allowed: "a group, in place of `runner` and `runner_config`",
  }),
  policy: resourcePolicySchema.prefault({}).meta({
    description: "What runs may use besides what the runner config selects.",
  }),
  state: stateSettingsSchema.prefault({}).meta({
    description: "What the runner may keep from run to run.",
  }),
  deadline: z.int().min(1).max(3600).nullable().default(null).meta({
    description: "End of a run after its start; null = `runs.deadline_sec`.",
    unit: "s",
  }),
  "exception-handling": z
    .enum(EXCEPTION_HANDLING)
    .default("show-hint")
    .meta({
      description:
        "What `error.notice` of a failed run tells the user where the failure is not the runner's: the error itself, a hint, or nothing.",
      allowed: EXCEPTION_HANDLING.join(", "),
    }),
  events: z
    .array(z.enum(SERVED_EVENT_TYPES))
    .max(16)
    .default(["message.received"])
    .meta({
      description: "Types of events that the pipeline answers when they name no pipeline.",
      allowed: `a list of ${SERVED_EVENT_TYPES.join(", ")}`,
    }),
});
export type PipelineConfig = z.infer<typeof pipelineSchema>;

/** The binding of an entry, as it is written (runs §5.1). */
export function bindingOf({ runner, runner_config, ai }: PipelineConfig): Readonly<Record<string, unknown>> {
  return ai === undefined ? { runner, runner_config } : { ai };
}

function isKnownForm(text: string): boolean {
  if (LEGACY_RUNNER_NAMES.some((name) => name === text) || isPluginRunnerId(text)) return true;
  try {
    return parseRunnerId(text).source === "builtin";
  } catch {
    return false;
  }
}
