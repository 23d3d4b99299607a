/** Brings a binding of an older version, or of another host, to the form that counts today (runs §6). Pure. */
import { EXCEPTION_HANDLING, type RunnerConfig } from "../domain/binding.js";
import { resolveBindingConfig, sectionOf, selectedEntry } from "../domain/binding-config.js";
import { canonicalRunnerId } from "../domain/runner-id.js";
import { savedBinding } from "../domain/save-binding.js";
import { type Group, isGroup } from "./group.js";
import { type MigratedConfig, migrateAgentConfig, type TemplateChoice } from "./migrate-agent-config.js";

const LOCAL_AGENT = "plugin:berth/local-agent/default";
/** Found in configurations of other hosts. */
const IMPORTED_AGENT = "plugin:langbot-team/LocalAgent/default";

export interface MigrateOptions {
  /** Nothing is changed before somebody said so. */
  readonly confirmed: boolean;
  /** What becomes of a box template with a text of its own; undefined = nobody has decided. */
  readonly template?: TemplateChoice | undefined;
  /** The setting `compat.write_legacy_keys` (runs §5.4). */
  readonly writeLegacyKeys: boolean;
}

interface Told {
  /** One sentence for each change. */
  readonly changes: readonly string[];
  /** What whoever confirms should know, one sentence each. */
  readonly warnings: readonly string[];
}

export type Migration =
  | { readonly kind: "unchanged" }
  /** Somebody has to decide first. */
  | { readonly kind: "stopped"; readonly reason: string }
  /** What a confirmation would do. */
  | ({ readonly kind: "proposed"; readonly binding: Group } & Told)
  /** Done; `backup` is the old one as it was. */
  | ({ readonly kind: "migrated"; readonly binding: Group; readonly backup: unknown } & Told);

/** @param old an entry of `pipelines`, or a binding alone; other keys of it stay */
export function migrateBinding(old: unknown, options: MigrateOptions): Migration {
  const { runnerId, config } = resolveBindingConfig(old);
  if (runnerId === null || !isGroup(old)) return { kind: "unchanged" };
  const output = readOutput(old["output"]);
  const renamed = isOfOlderForm(old, runnerId);
  const isAgent = canonicalRunnerId(runnerId) === LOCAL_AGENT;
  const facts = { isOld: renamed, removeThink: output?.removeThink, template: options.template };
  const agent = isAgent ? migrateAgentConfig(config, facts) : unchangedConfig(config);
  if (agent.stop !== null) return { kind: "stopped", reason: agent.stop };
  const id = canonicalRunnerId(runnerId);
  const changes = [
    ...(renamed ? [`The runner is selected by its id ${id}, and its config stands under that id.`] : []),
    ...agent.changes,
    ...(output?.changes ?? []),
  ];
  if (changes.length === 0) return { kind: "unchanged" };
  const { runner, runner_config, ai, output: _output, ...rest } = old;
  const written = ai === undefined ? { runner, runner_config } : { ai };
  const saved = savedBinding(selectNewly(written, id, agent.config), options.writeLegacyKeys);
  const binding = { ...output?.settings, ...rest, ...saved, ...output?.left };
  const told = { changes, warnings: [...agent.warnings, ...(output?.warnings ?? [])] };
  return options.confirmed
    ? { kind: "migrated", binding, backup: structuredClone(old), ...told }
    : { kind: "proposed", binding, ...told };
}

function unchangedConfig(config: RunnerConfig): MigratedConfig {
  return { config, changes: [], warnings: [], stop: null };
}

/** Selected by an old key, an old block or the id of another host. */
function isOfOlderForm(old: Group, runnerId: string): boolean {
  const { section } = sectionOf(old);
  const id = isGroup(section["runner"]) ? section["runner"]["id"] : undefined;
  const { configSource } = resolveBindingConfig(old);
  return typeof id !== "string" || id === "" || configSource === "legacy" || runnerId === IMPORTED_AGENT;
}

/** The binding with the id as it counts, and the entry of the config moved there. */
function selectNewly(binding: Group, id: string, config: RunnerConfig): Group {
  const { section } = sectionOf(binding);
  const runner = isGroup(section["runner"]) ? section["runner"] : {};
  const configs = isGroup(section["runner_config"]) ? section["runner_config"] : {};
  const key = selectedEntry(binding)?.path.at(-1);
  const others = Object.entries(configs).filter(([name]) => name !== key && name !== id);
  return {
    ...section,
    runner: { ...runner, id },
    runner_config: { ...Object.fromEntries(others), [id]: config },
  };
}

interface OldOutput extends Told {
  /** As it was written; undefined = nothing was. */
  readonly removeThink: unknown;
  /** What the pipeline's own settings take over. */
  readonly settings: Group;
  /** What stays of the section. */
  readonly left: Group;
}

/** The output section of an older pipeline: one of its switches belongs to the runner, one to the pipeline (runs §6.1, §21.6). */
function readOutput(output: unknown): OldOutput | null {
  if (!isGroup(output)) return null;
  const think = takeOut(output, "remove-think");
  const handling = takeOut(think?.left ?? output, "exception-handling");
  if (think === null && handling === null) return null;
  const left = handling?.left ?? think?.left ?? {};
  const isEmpty = Object.values(left).every((value) => isGroup(value) && Object.keys(value).length === 0);
  const mode = EXCEPTION_HANDLING.find((name) => name === handling?.value);
  return {
    removeThink: think?.value,
    settings: mode === undefined ? {} : { "exception-handling": mode },
    left: isEmpty ? {} : { output: left },
    changes: [
      ...(think === null ? [] : ["remove-think leaves the output section."]),
      ...(handling === null ? [] : ["exception-handling leaves the output section."]),
    ],
    warnings: [
      ...(think === null || typeof think.value === "boolean"
        ? []
        : ["remove-think of the output section is no boolean, so it is not copied."]),
      ...(handling === null || mode !== undefined
        ? []
        : [`exception-handling is none of ${EXCEPTION_HANDLING.join(", ")}: the default counts.`]),
    ],
  };
}

/** A key of the section itself, or of its `misc`. */
function takeOut(output: Group, key: string): { readonly value: unknown; readonly left: Group } | null {
  if (Object.hasOwn(output, key)) return { value: output[key], left: without(output, key) };
  const { misc } = output;
  if (!isGroup(misc) || !Object.hasOwn(misc, key)) return null;
  return { value: misc[key], left: { ...output, misc: without(misc, key) } };
}

function without(group: Group, key: string): Group {
  return Object.fromEntries(Object.entries(group).filter(([name]) => name !== key));
}
