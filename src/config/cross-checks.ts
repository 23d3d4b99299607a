/** Faults that lie between settings: what each section allows, taken together, must work. */
import { selectedEntry } from "../domain/binding-config.js";
import { findBindingFaults } from "../domain/check-binding.js";
import { isEmptySelection } from "../domain/selector-values.js";
import { isLoopbackHost } from "../lib/loopback.js";
import type { BrokenParts, Part } from "./broken-parts.js";
import { type ConfigFault, formatPath } from "./config-fault.js";
import type { Settings } from "./config-schema.js";
import { findServerFaults, findServerGrantFaults } from "./mcp-checks.js";
import { DEMO_MODEL_ID, MODEL_OF_ENVIRONMENT } from "./model-settings.js";
import { bindingOf, type PipelineConfig } from "./pipeline-settings.js";

/** Shortest key off loopback (box §16.1). */
const MIN_KEY_LENGTH = 32;

interface CrossCheck {
  /** What the check reads; it is left out while some of that is faulty itself. */
  readonly reads: readonly Part[];
  readonly find: (settings: Settings) => readonly ConfigFault[];
}

const CROSS_CHECKS: readonly CrossCheck[] = [
  { reads: ["server.host", "server.keys"], find: findKeyFaults },
  { reads: ["models"], find: ({ models }) => findRepeats("models", models) },
  { reads: ["pipelines"], find: ({ pipelines }) => findRepeats("pipelines", pipelines) },
  { reads: ["mcp_servers"], find: ({ mcp_servers: servers }) => findRepeats("mcp_servers", servers) },
  { reads: ["mcp_servers"], find: findServerFaults },
  { reads: ["mcp_servers", "pipelines"], find: findServerGrantFaults },
  { reads: ["bots"], find: ({ bots }) => findRepeats("bots", bots) },
  { reads: ["pipelines", "default_pipeline"], find: findDefaultPipelineFaults },
  { reads: ["pipelines"], find: ({ pipelines }) => pipelines.flatMap(findPipelineBindingFaults) },
  { reads: ["pipelines", "models"], find: findModelFaults },
  { reads: totalsOf("inbound"), find: ({ inbound }) => findTotalFaults("inbound", inbound) },
  { reads: totalsOf("export"), find: ({ export: outgoing }) => findTotalFaults("export", outgoing) },
];

/** @param broken what is faulty by itself */
export function findCrossFaults(settings: Settings, broken: BrokenParts): ConfigFault[] {
  return CROSS_CHECKS.filter(({ reads }) => broken.areSound(reads)).flatMap(({ find }) => find(settings));
}

function totalsOf(section: "inbound" | "export"): readonly Part[] {
  return [`${section}.max_file_bytes`, `${section}.max_total_bytes`];
}

function findKeyFaults({ server }: Settings): ConfigFault[] {
  const { host, keys } = server;
  const twice = keys.flatMap(({ key }, index): ConfigFault[] =>
    keys.findIndex((other) => other.key === key) === index
      ? []
      : [
          {
            path: `server.keys[${index}].key`,
            found: "a key that stands above already",
            allowed: "each key once",
          },
        ],
  );
  if (isLoopbackHost(host)) return twice;
  if (keys.length === 0) {
    return [
      {
        path: "server.host",
        found: "an address other than loopback, and no key",
        allowed: `127.0.0.1, ::1 or localhost without a key; any address with a key of at least ${MIN_KEY_LENGTH} characters in server.keys or BERTH_API_KEY`,
      },
    ];
  }
  const short = keys.flatMap(({ key }, index): ConfigFault[] =>
    key.length >= MIN_KEY_LENGTH
      ? []
      : [
          {
            path: `server.keys[${index}].key`,
            found: `a key of ${key.length} characters with server.host off loopback`,
            allowed: `at least ${MIN_KEY_LENGTH} characters`,
          },
        ],
  );
  return [...twice, ...short];
}

function findRepeats(list: string, entries: readonly { readonly id: string }[]): ConfigFault[] {
  return entries.flatMap(({ id }, index): ConfigFault[] =>
    entries.findIndex((other) => other.id === id) === index
      ? []
      : [{ path: `${list}[${index}].id`, found: `"${id}" a second time`, allowed: "each id once" }],
  );
}

function findDefaultPipelineFaults({ pipelines, default_pipeline: wanted }: Settings): ConfigFault[] {
  const ids = pipelines.length === 0 ? ["default"] : [...new Set(pipelines.map(({ id }) => id))];
  if (ids.includes(wanted)) return [];
  return [{ path: "default_pipeline", found: `"${wanted}", which is no pipeline`, allowed: ids.join(", ") }];
}

function findPipelineBindingFaults(pipeline: PipelineConfig, index: number): ConfigFault[] {
  const { ai, runner, runner_config } = pipeline;
  if (ai !== undefined && (runner ?? runner_config) !== undefined)
    return [
      {
        path: `pipelines[${index}].ai`,
        found: "a binding beside runner or runner_config",
        allowed: "either ai, or runner and runner_config",
      },
    ];
  return findBindingFaults(bindingOf(pipeline)).map(({ path, ...fault }) => ({
    path: formatPath(["pipelines", index, ...path]),
    ...fault,
  }));
}

function findModelFaults({ pipelines, models }: Settings): ConfigFault[] {
  const ids = [...new Set(models.map(({ id }) => id)), DEMO_MODEL_ID];
  return pipelines.flatMap((pipeline, index) =>
    referencedModels(pipeline)
      .filter(({ id }) => !ids.includes(id) && !isFallbackId(id, models))
      .map(({ id, at }) => ({
        path: `pipelines[${index}].${at}`,
        found: `"${id}", which is no model`,
        allowed: ids.join(", "),
      })),
  );
}

/** The same file works with and without OPENAI_API_KEY. */
function isFallbackId(id: string, models: Settings["models"]): boolean {
  return models.length === 0 && id === MODEL_OF_ENVIRONMENT;
}

function referencedModels(pipeline: PipelineConfig): { id: string; at: string }[] {
  const granted = pipeline.policy.allowed_model_uuids.map((id, index) => ({
    id,
    at: `policy.allowed_model_uuids[${index}]`,
  }));
  const entry = selectedEntry(bindingOf(pipeline));
  const selector = entry?.config["model"];
  if (entry === null || typeof selector !== "object" || selector === null) return granted;
  const { primary, fallbacks }: { primary?: unknown; fallbacks?: unknown } = selector;
  const at = formatPath([...entry.path, "model"]);
  const listed: readonly unknown[] = Array.isArray(fallbacks) ? fallbacks : [];
  return [
    ...asReference(primary, `${at}.primary`),
    ...listed.flatMap((id, index) => asReference(id, `${at}.fallbacks[${index}]`)),
    ...granted,
  ];
}

/** Empty selector values are no reference (runs §4.3). */
function asReference(id: unknown, at: string): { id: string; at: string }[] {
  return typeof id === "string" && !isEmptySelection(id) ? [{ id, at }] : [];
}

function findTotalFaults(
  name: string,
  limits: { readonly max_file_bytes: number; readonly max_total_bytes: number },
): ConfigFault[] {
  if (limits.max_total_bytes >= limits.max_file_bytes) return [];
  return [
    {
      path: `${name}.max_total_bytes`,
      found: `the number ${limits.max_total_bytes}, below ${name}.max_file_bytes`,
      allowed: `at least ${limits.max_file_bytes}`,
    },
  ];
}
