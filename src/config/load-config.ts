/** The only reader of the environment and of the configuration file. Everything is checked whole at start (api §8). */

import { readFileSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { type Document, parseDocument } from "yaml";
import { parseToolGrant } from "../domain/tool-grant.js";
import { applyEnvironment } from "./apply-environment.js";
import { checkSettings } from "./check-settings.js";
import { completeConfig } from "./complete-config.js";
import type { ConfigFault } from "./config-fault.js";
import type { Config, Settings } from "./config-schema.js";
import { findCrossFaults } from "./cross-checks.js";
import { type Environment, interpolate } from "./interpolate.js";
import { findMountSettingFaults } from "./mount-checks.js";
import type { PipelineConfig } from "./pipeline-settings.js";

const DEFAULT_FILE = "berth.yaml";
const MOUNT_PARTS = [
  "boxes.extra_mounts",
  "boxes.allowed_mount_roots",
  "boxes.engines",
  "storage.directory",
] as const;
const MAX_FILE_CHARS = 4 * 1024 * 1024;

export interface ConfigSource {
  readonly environment: Environment;
  /** Absolute. */
  readonly workingDirectory: string;
  /** A file that must exist; undefined = BERTH_CONFIG, else `berth.yaml` if there is one. */
  readonly file?: string | undefined;
  /** Tools that a pipeline may name; undefined = names are not checked. */
  readonly toolNames?: readonly string[] | undefined;
  /** What a runner has against the config of a pipeline, one sentence per fault, each beginning with its key. */
  readonly findRunnerFaults?: ((pipeline: PipelineConfig) => readonly string[]) | undefined;
}

export type LoadedConfig =
  | {
      readonly ok: true;
      readonly config: Config;
      /** Absolute; null when there is no file. */
      readonly file: string | null;
      /** What must be said plainly at start, one sentence each. */
      readonly notices: readonly string[];
    }
  | { readonly ok: false; readonly file: string | null; readonly faults: readonly ConfigFault[] };

export function loadConfig(source: ConfigSource): LoadedConfig {
  const { environment } = source;
  const read = readConfigFile(source);
  if ("faults" in read) return { ok: false, ...read };
  const filled = interpolate(read.raw, environment);
  const overridden = applyEnvironment(filled.value, environment);
  const substituted = new Map([...filled.substituted, ...overridden.substituted]);
  const { settings, broken, faults } = checkSettings(overridden.value, substituted);
  const all = [
    ...filled.faults,
    ...faults.filter(({ path }) => !filled.faults.some((missing) => missing.path === path)),
    ...findCrossFaults(settings, broken),
    ...(broken.areSound(MOUNT_PARTS)
      ? findMountSettingFaults(settings, dataDirectory(settings, source))
      : []),
    ...(broken.areSound(["boxes.engines"]) ? findTlsFaults(settings, environment) : []),
    ...(broken.areSound(["pipelines"]) ? findPipelineFaults(settings, source) : []),
    ...(broken.areSound(["pipelines"]) ? findToolFaults(settings, source) : []),
  ];
  if (all.length > 0) return { ok: false, file: read.file, faults: all };
  return { ok: true, file: read.file, ...completeConfig(settings, environment, source.workingDirectory) };
}

function dataDirectory({ storage }: Settings, { workingDirectory }: ConfigSource): string {
  return resolve(workingDirectory, storage.directory);
}

function findPipelineFaults({ pipelines }: Settings, source: ConfigSource): ConfigFault[] {
  return pipelines.flatMap((pipeline, index) =>
    (source.findRunnerFaults?.(pipeline) ?? []).map((sentence) => ({
      path: `pipelines[${index}]`,
      found: "a config that its runner refuses",
      allowed: sentence.replace(/\.$/, ""),
    })),
  );
}

/** What is no tool would be granted to nobody, in silence. */
function findToolFaults({ pipelines }: Settings, { toolNames }: ConfigSource): ConfigFault[] {
  if (toolNames === undefined) return [];
  return pipelines.flatMap(({ policy }, index) =>
    (policy.allowed_tool_names ?? []).flatMap((name, position): ConfigFault[] =>
      toolNames.includes(name) || isOfOthers(name)
        ? []
        : [
            {
              path: `pipelines[${index}].policy.allowed_tool_names[${position}]`,
              found: `${JSON.stringify(name.slice(0, 100))}, which is no tool`,
              allowed: `${toolNames.join(", ")}; of others <source>:<id>/<tool>, as mcp:docs/search`,
            },
          ],
    ),
  );
}

/** What others offer is known only when they are asked. */
function isOfOthers(name: string): boolean {
  const { ref } = parseToolGrant(name);
  return ref !== null && ref.source !== "native";
}

/** The engine would be asked without the protection that the variable demands. */
function findTlsFaults({ boxes }: Settings, environment: Environment): ConfigFault[] {
  const isWanted =
    (environment["DOCKER_TLS_VERIFY"] ?? "") !== "" || (environment["DOCKER_TLS"] ?? "") !== "";
  return boxes.engines.flatMap(({ host }, index): ConfigFault[] =>
    isWanted && /^(?:tcp|https?):/.test(host)
      ? [
          {
            path: `boxes.engines[${index}].host`,
            found: "an address over the network while DOCKER_TLS_VERIFY or DOCKER_TLS is set",
            allowed:
              "a unix socket, or these variables unset: this version has no client certificates for engines",
          },
        ]
      : [],
  );
}

type ReadFile =
  | { readonly file: string | null; readonly raw: unknown }
  | { readonly file: string | null; readonly faults: readonly ConfigFault[] };

function readConfigFile({ file, environment, workingDirectory }: ConfigSource): ReadFile {
  const named = file ?? (environment["BERTH_CONFIG"] || undefined);
  const wanted = named ?? DEFAULT_FILE;
  const path = isAbsolute(wanted) ? wanted : resolve(workingDirectory, wanted);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (named === undefined && isMissing(error)) return { file: null, raw: {} };
    const found = isMissing(error) ? "no file of that name" : "a file that cannot be read";
    return { file: path, faults: [{ path: "", found, allowed: "a YAML file that the service may read" }] };
  }
  return { file: path, ...parseYaml(text) };
}

function parseYaml(text: string): { readonly raw: unknown } | { readonly faults: readonly ConfigFault[] } {
  if (text.length > MAX_FILE_CHARS) {
    const found = `a file of ${text.length} characters`;
    return { faults: [{ path: "", found, allowed: `at most ${MAX_FILE_CHARS} characters` }] };
  }
  const document = parseDocument(text, { prettyErrors: false, stringKeys: true });
  const mistakes = [...document.errors, ...document.warnings];
  if (mistakes.length === 0) return readDocument(document);
  return {
    faults: mistakes.map((mistake) => ({
      path: "",
      found: `a mistake in line ${lineOf(text, mistake.pos[0])} (${mistake.code.toLowerCase().replaceAll("_", " ")})`,
      allowed: "valid YAML",
    })),
  };
}

function readDocument(
  document: Document,
): { readonly raw: unknown } | { readonly faults: readonly ConfigFault[] } {
  try {
    return { raw: document.toJS({ maxAliasCount: 100 }) };
  } catch {
    const found = "an alias without an anchor, or too many of them";
    return { faults: [{ path: "", found, allowed: "YAML whose aliases can be followed" }] };
  }
}

function lineOf(text: string, position: number): number {
  return text.slice(0, position).split("\n").length;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
