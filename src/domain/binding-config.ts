/**
 * Reads a binding as it is written: `runner` and `runner_config`, within `ai` or without, or by the keys of older
 * versions, which lie in `ai` (runs §5). Pure; whatever was written, reading never throws.
 */
import type { ConfigSource, RunnerConfig } from "./binding.js";
import type { RunWarning } from "./result.js";
import { canonicalRunnerId, LEGACY_RUNNER_NAMES, legacyRunnerName, runnerAliases } from "./runner-id.js";

export interface ResolvedBinding {
  /** Null = no runner is selected. */
  readonly runnerId: string | null;
  readonly config: RunnerConfig;
  readonly configSource: ConfigSource;
  /** Seconds after its last message in which a conversation goes on; 0 = for ever (runs §5.7). */
  readonly expireSec: number;
  readonly warnings: readonly RunWarning[];
}

type Group = Readonly<Record<string, unknown>>;

/** Runner, config and where it was found (runs §5.2, §5.3). */
export function resolveBindingConfig(binding: unknown): ResolvedBinding {
  const { section } = sectionOf(binding);
  const runner = groupOf(section["runner"]);
  const runnerId = selectedRunner(runner);
  const entry = runnerId === null ? null : findEntry(section, runnerId);
  return {
    runnerId,
    config: entry?.config ?? {},
    configSource: entry?.source ?? "none",
    expireSec: readExpireTime(runner["expire-time"]),
    warnings: differenceOf(runner),
  };
}

/** A whole number of seconds from 0 on; anything else reads as 0 (runs §5.7). */
export function readExpireTime(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

/** The config of the selected runner with its place in the binding; null where there is none. */
export function selectedEntry(binding: unknown): {
  readonly path: readonly string[];
  readonly config: RunnerConfig;
} | null {
  const { prefix, section } = sectionOf(binding);
  const runnerId = selectedRunner(groupOf(section["runner"]));
  const entry = runnerId === null ? null : findEntry(section, runnerId);
  return entry === null ? null : { path: [...prefix, ...entry.path], config: entry.config };
}

/** `ai` where it stands, else the binding itself, with the path to it. */
export function sectionOf(binding: unknown): { readonly prefix: readonly string[]; readonly section: Group } {
  const whole = groupOf(binding);
  return isGroup(whole["ai"]) ? { prefix: ["ai"], section: whole["ai"] } : { prefix: [], section: whole };
}

/** The id as it is used: that of `runner.id`, else the old name as an id (runs §1.7). */
export function selectedRunner(runner: Group): string | null {
  const old = textOf(runner["runner"]);
  return textOf(runner["id"]) ?? (old === null ? null : fromOldName(old));
}

interface Entry {
  readonly path: readonly string[];
  readonly config: RunnerConfig;
  readonly source: Exclude<ConfigSource, "none">;
}

function findEntry(section: Group, runnerId: string): Entry | null {
  const written = groupOf(section["runner_config"]);
  for (const id of [runnerId, ...runnerAliases(runnerId)]) {
    const config = ownGroup(written, id);
    if (config !== null)
      return { path: ["runner_config", id], config, source: id === runnerId ? "id" : "alias" };
  }
  const name = legacyRunnerName(runnerId);
  const block = name === null ? null : ownGroup(section, name);
  return name === null || block === null ? null : { path: [name], config: block, source: "legacy" };
}

/** Both keys may stand; they are written together for older versions, so only a real difference is told. */
function differenceOf(runner: Group): readonly RunWarning[] {
  const id = textOf(runner["id"]);
  const old = textOf(runner["runner"]);
  if (id === null || old === null || canonicalRunnerId(id) === canonicalRunnerId(fromOldName(old))) return [];
  return [
    {
      code: "binding.runner_differs",
      message: `runner.id says "${id.slice(0, 200)}" and runner.runner says "${old.slice(0, 200)}"; runner.id counts.`,
    },
  ];
}

function fromOldName(name: string): string {
  return LEGACY_RUNNER_NAMES.some((known) => known === name) ? `builtin:${name}` : name;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function groupOf(value: unknown): Group {
  return isGroup(value) ? value : {};
}

function ownGroup(group: Group, name: string): Record<string, unknown> | null {
  const value = Object.hasOwn(group, name) ? group[name] : undefined;
  return isGroup(value) ? value : null;
}

export function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
