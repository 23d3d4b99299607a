/** `plugin.yaml`: what a package says of itself. Strict, so that a slip costs the package and is told. */
import { z } from "zod";
import { eventTypeSchema } from "../../domain/event.js";
import { labelSchema } from "../../domain/runner-manifest.js";

/** What may stand between the slashes of a runner id (runs §1.1), and in a directory's listing. */
const idPart = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9._-]+$/, "letters, digits, dots, underscores and dashes");

const toolSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "1 to 64 letters, digits, underscores and dashes"),
  description: z.string().min(1).max(4000),
  parameters: z.record(z.string(), z.unknown()).default({ type: "object", properties: {} }),
});

export const MAX_MEMORY_MB = 65_536;

export const pluginManifestSchema = z.strictObject({
  kind: z.literal("Plugin"),
  metadata: z.strictObject({
    author: idPart,
    name: idPart,
    version: z.string().min(1).max(100),
    label: labelSchema,
  }),
  spec: z.strictObject({
    /** Module that the package's process loads; below the package's directory. */
    entry: z
      .string()
      .max(500)
      .regex(/^(?!\/)[^\\\0]+\.m?js$/, "a relative path of a .mjs or .js file"),
    memory_mb: z.int().min(96).max(MAX_MEMORY_MB).optional(),
    /** `AgentRunner` manifests; each is judged by itself (runs §3.1). */
    runners: z.array(z.unknown()).max(100).default([]),
    tools: z.array(toolSchema).max(100).default([]),
    listens_to: z.array(eventTypeSchema).default([]),
  }),
});

const runnerFacts = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ capabilities: z.looseObject({ interrupt: z.literal(true) }) }),
});

/** Names of the runners that end by themselves when they are told to (runs §2.2). */
export function interruptible(manifests: readonly unknown[]): ReadonlySet<string> {
  const names = manifests.flatMap((manifest) => {
    const parsed = runnerFacts.safeParse(manifest);
    return parsed.success ? [parsed.data.metadata.name] : [];
  });
  return new Set(names);
}
