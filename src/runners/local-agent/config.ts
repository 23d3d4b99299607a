/** Reads the runner's config; a value that fails its rule is replaced by its default (local-agent §1). */
import { z } from "zod";
import { findAccessFaults } from "../../domain/access-switches.js";
import type { ModelResource, Resources } from "../../domain/resources.js";

export const DEFAULT_TEMPLATE = "{launcher_type}_{launcher_id}";
export const DEFAULT_PROMPT = [{ role: "system", content: "You are a helpful assistant." }];
const MAX_ITERATIONS = 1000;

/** A whole number that is really one: neither a boolean nor text. */
const wholeNumber = (min: number, fallback: number) => z.number().int().min(min).catch(fallback);

const configSchema = z.object({
  model: z.object({ primary: z.unknown().optional(), fallbacks: z.unknown().optional() }).catch({}),
  timeout: z.union([z.null(), z.number().int().min(0)]).catch(300),
  prompt: z.array(z.unknown()).catch(DEFAULT_PROMPT),
  "remove-think": z.literal(true).or(z.literal(false)).catch(false),
  "box-enabled": z
    .unknown()
    .optional()
    .transform((value) => value !== false),
  "box-session-id-template": z.string().catch(DEFAULT_TEMPLATE),
  "date-grounding": z
    .unknown()
    .optional()
    .transform((value) => value !== false),
  "max-tool-iterations": wholeNumber(1, 100).transform((count) => Math.min(count, MAX_ITERATIONS)),
  "tool-execution-mode": z.enum(["parallel", "serial"]).catch("parallel"),
  "max-tool-result-chars": wholeNumber(1, 20_000),
  "context-history-fetch-limit": wholeNumber(1, 50),
});

export interface AgentConfig {
  /** In the order in which they are asked; empty = the run cannot begin. */
  readonly models: readonly ModelResource[];
  /** The runner's own timer; null = off. */
  readonly timeoutMs: number | null;
  /** As written; its entries are checked when the prompt is assembled. */
  readonly prompt: readonly unknown[];
  readonly removeThink: boolean;
  readonly boxEnabled: boolean;
  readonly boxTemplate: string;
  readonly dateGrounding: boolean;
  readonly maxToolIterations: number;
  readonly toolExecutionMode: "parallel" | "serial";
  /** Unicode characters. */
  readonly maxToolResultChars: number;
  /** Units of history (local-agent §15.3). */
  readonly historyFetchLimit: number;
}

export function readConfig(
  config: Readonly<Record<string, unknown>>,
  resources: Pick<Resources, "models">,
): AgentConfig {
  const values = configSchema.parse(config);
  const timeoutSec = values.timeout ?? 0;
  return {
    models: selectModels(values.model, resources.models),
    timeoutMs: timeoutSec === 0 ? null : timeoutSec * 1000,
    prompt: values.prompt,
    removeThink: values["remove-think"],
    boxEnabled: values["box-enabled"],
    boxTemplate: values["box-session-id-template"],
    dateGrounding: values["date-grounding"],
    maxToolIterations: values["max-tool-iterations"],
    toolExecutionMode: values["tool-execution-mode"],
    maxToolResultChars: values["max-tool-result-chars"],
    historyFetchLimit: values["context-history-fetch-limit"],
  };
}

/** Authorised language models only, primary first, each once. */
function selectModels(
  selector: { readonly primary?: unknown; readonly fallbacks?: unknown },
  authorised: readonly ModelResource[],
): readonly ModelResource[] {
  const fallbacks: readonly unknown[] = Array.isArray(selector.fallbacks) ? selector.fallbacks : [];
  const ids = new Set(
    [selector.primary, ...fallbacks].flatMap((id) => (typeof id === "string" ? [id.trim()] : [])),
  );
  return [...ids].flatMap((id) => {
    const model = authorised.find(({ model_id, type }) => model_id === id && type === "llm");
    return model === undefined ? [] : [model];
  });
}

/** Names of local-agent §1, those that this version does not read among them, and of configs of other hosts. */
const KNOWN_NAMES: ReadonlySet<string> = new Set([
  ...Object.keys(configSchema.shape),
  "advanced-settings",
  "knowledge-bases",
  "knowledge-base",
  "retrieval-top-k",
  "rerank-model",
  "rerank-top-k",
  "context-window-tokens",
  "context-reserve-tokens",
  "context-keep-recent-tokens",
  "context-summary-tokens",
  "tools",
  "enable-all-tools",
  "mcp-resource-agent-read-enabled",
  "mcp-resources",
  "max-round",
]);

/** What has no meaning is a slip of whoever wrote it: it would be ignored in silence. */
function findUnknownNames(config: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(config)
    .filter((name) => !KNOWN_NAMES.has(name))
    .map(
      (name) =>
        `${JSON.stringify(name.slice(0, 100))} is no setting of the local agent, which are: ${[...KNOWN_NAMES].join(", ")}.`,
    );
}

/** @returns one sentence for each name that is not known, and for each switch that is no boolean (runs §5.5) */
export function findConfigFaults(config: Readonly<Record<string, unknown>>): readonly string[] {
  return [...findUnknownNames(config), ...findAccessFaults(config), ...findSelectionFaults(config)];
}

/** A selection that is read as none would leave tools out in silence. */
function findSelectionFaults({ tools }: Readonly<Record<string, unknown>>): readonly string[] {
  if (tools === undefined || z.array(z.string()).safeParse(tools).success) return [];
  return ["tools must be a list of texts: names of tools, or <source>:<id>/<tool>, as mcp:docs/search."];
}
