/** What a runner package declares, and the descriptor the registry makes of it (runs §2). */
import { z } from "zod";

const flag = z.boolean().default(false);

export const capabilitiesSchema = z.strictObject({
  streaming: flag,
  tool_calling: flag,
  knowledge_retrieval: flag,
  multimodal_input: flag,
  interrupt: flag,
  steering: flag,
  skill_authoring: flag,
  event_context: flag,
  platform_api: flag,
  stateful_session: flag,
  interactions: flag,
});
export type Capabilities = z.infer<typeof capabilitiesSchema>;

const operations = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  z.array(z.enum(names)).default([]);

export const permissionsSchema = z.strictObject({
  models: operations(["count_tokens", "invoke", "stream", "rerank"]),
  tools: operations(["detail", "call"]),
  knowledge_bases: operations(["list", "retrieve"]),
  history: operations(["page", "search"]),
  events: operations(["get", "page"]),
  storage: operations(["plugin", "workspace"]),
  files: operations(["capture"]),
  interactions: operations(["request"]),
  platform_api: z.array(z.never()).default([]),
});
export type Permissions = z.infer<typeof permissionsSchema>;

export const CONFIG_ITEM_TYPES = [
  "model-fallback-selector",
  "llm-model-selector",
  "select-llm-model",
  "rerank-model-selector",
  "knowledge-base-multi-selector",
  "select-knowledge-bases",
  "prompt-editor",
  "integer",
  "boolean",
  "select",
  "string",
] as const;

/** Text by language code; `en` is always there. */
export const labelSchema = z.record(z.string(), z.string());

/** Fields that forms of other hosts know stay as they are. */
export const configItemSchema = z.looseObject({
  id: z.string().min(1).optional(),
  /** The key of its value; an item without one only shows something. */
  name: z.string().min(1).optional(),
  type: z.enum(CONFIG_ITEM_TYPES),
  label: labelSchema,
  description: labelSchema.optional(),
  required: z.boolean().optional(),
  default: z.unknown().optional(),
  options: z.array(z.object({ name: z.string(), label: labelSchema })).optional(),
});
export type ConfigItem = z.infer<typeof configItemSchema>;

/** What a config holds for an item; undefined where it holds nothing. */
export function itemValue(
  { name }: Pick<ConfigItem, "name">,
  config: Readonly<Record<string, unknown>>,
): unknown {
  return name !== undefined && Object.hasOwn(config, name) ? config[name] : undefined;
}

/** What may stand between the slashes of a runner id (runs §1.1). */
const idPartSchema = z.string().regex(/^[^\s/]+$/, "one or more characters without / and white space");

export const runnerManifestSchema = z.looseObject({
  kind: z.literal("AgentRunner"),
  metadata: z.looseObject({
    name: idPartSchema,
    label: labelSchema,
    description: labelSchema.nullable().default(null),
    author: idPartSchema,
    plugin: idPartSchema,
    version: z.string().min(1),
  }),
  spec: z.looseObject({
    config: z.array(configItemSchema).default([]),
    capabilities: capabilitiesSchema,
    permissions: permissionsSchema,
  }),
});

export interface RunnerDescriptor {
  readonly id: string;
  readonly source: "builtin" | "plugin";
  readonly label: Readonly<Record<string, string>>;
  readonly description: Readonly<Record<string, string>> | null;
  readonly plugin_author: string;
  readonly plugin_name: string;
  readonly plugin_version: string;
  readonly runner_name: string;
  readonly protocol_version: "1";
  readonly config_schema: readonly ConfigItem[];
  readonly capabilities: Capabilities;
  readonly permissions: Permissions;
  readonly raw_manifest: unknown;
}

/** What a manifest may leave to its package: who wrote it, and which version it is. */
export interface PackageFacts {
  readonly author: string;
  readonly plugin: string;
  readonly version: string;
}

/**
 * @param facts of the package; they fill in what the manifest leaves out
 * @throws ZodError where the manifest is not valid (runs §2.2, §2.3, §3.1)
 */
export function describeRunner(
  manifest: unknown,
  source: "builtin" | "plugin",
  facts?: PackageFacts,
): RunnerDescriptor {
  const { metadata, spec } = runnerManifestSchema.parse(withFacts(manifest, facts));
  return {
    id: `plugin:${metadata.author}/${metadata.plugin}/${metadata.name}`,
    source,
    label: metadata.label,
    description: metadata.description,
    plugin_author: metadata.author,
    plugin_name: metadata.plugin,
    plugin_version: metadata.version,
    runner_name: metadata.name,
    protocol_version: "1",
    config_schema: spec.config,
    capabilities: spec.capabilities,
    permissions: spec.permissions,
    raw_manifest: manifest,
  };
}

function withFacts(manifest: unknown, facts: PackageFacts | undefined): unknown {
  if (facts === undefined) return manifest;
  const { author, plugin, version } = facts;
  const parsed = outlineSchema.safeParse(manifest);
  if (!parsed.success) return manifest;
  return { ...parsed.data, metadata: { author, plugin, version, ...parsed.data.metadata } };
}

const outlineSchema = z.looseObject({ metadata: z.looseObject({}) });
