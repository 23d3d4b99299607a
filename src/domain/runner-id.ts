/** Runner ids: canonical form, aliases and legacy names (runs §1). */
import { ServiceError } from "./errors.js";

export type RunnerId =
  | { readonly source: "plugin"; readonly author: string; readonly plugin: string; readonly runner: string }
  | { readonly source: "builtin"; readonly name: string };

const PART = /^[^\s/]+$/;

/** Names that shipped before ids existed; `<name>`, `builtin:<name>` and `plugin:berth/<name>/default` are one runner (runs §1.7). */
export const LEGACY_RUNNER_NAMES = [
  "local-agent",
  "dify-service-api",
  "coze-api",
  "n8n-service-api",
  "langflow-api",
  "deerflow-api",
  "weknora-api",
  "dashscope-app-api",
  "tbox-app-api",
] as const;

const IMPORTED_ALIASES: Readonly<Record<string, string>> = {
  "plugin:langbot-team/LocalAgent/default": "plugin:berth/local-agent/default",
};

/** @throws ServiceError `request.invalid` for every text that is no runner id (runs §1.3). */
export function parseRunnerId(text: string): RunnerId {
  if (text.startsWith("builtin:")) {
    const name = text.slice("builtin:".length);
    if (PART.test(name)) return Object.freeze({ source: "builtin", name });
  }
  if (text.startsWith("plugin:")) {
    const parts = text.slice("plugin:".length).split("/");
    const [author, plugin, runner] = parts;
    if (parts.length === 3 && author !== undefined && plugin !== undefined && runner !== undefined) {
      if (parts.every((part) => PART.test(part)))
        return Object.freeze({ source: "plugin", author, plugin, runner });
    }
  }
  throw new ServiceError("request.invalid", `"${text}" is not a runner id.`, {
    hint: "Use plugin:<author>/<plugin>/<runner> or builtin:<name>.",
  });
}

export function formatRunnerId(id: RunnerId): string {
  switch (id.source) {
    case "plugin":
      return `plugin:${id.author}/${id.plugin}/${id.runner}`;
    case "builtin":
      return `builtin:${id.name}`;
    default:
      throw new ServiceError("request.invalid", "Unknown runner source: only plugin and builtin exist.");
  }
}

/** True only for the canonical plugin form; never throws (runs §1.5). */
export function isPluginRunnerId(text: string): boolean {
  try {
    return parseRunnerId(text).source === "plugin";
  } catch {
    return false;
  }
}

/** The plugin id `author/plugin`. @throws ServiceError `request.invalid` for other ids (runs §1.5). */
export function pluginIdOf(text: string): string {
  const id = parseRunnerId(text);
  if (id.source === "plugin") return `${id.author}/${id.plugin}`;
  throw new ServiceError("request.invalid", `"${text}" is not a plugin runner id.`);
}

/** Every id under which one runner and its config may be written, canonical id first (runs §1.6, §1.7). */
export function runnerAliases(text: string): readonly string[] {
  const name = legacyRunnerName(text);
  if (name === null) return [text];
  const canonical = `plugin:berth/${name}/default`;
  const imported = Object.keys(IMPORTED_ALIASES).filter((alias) => IMPORTED_ALIASES[alias] === canonical);
  return [canonical, `builtin:${name}`, name, ...imported];
}

/** The id the registry knows a runner by. */
export function canonicalRunnerId(text: string): string {
  return runnerAliases(text)[0] ?? text;
}

/** The name that a runner that ships had before ids existed; null for every other runner. */
export function legacyRunnerName(text: string): string | null {
  const id = IMPORTED_ALIASES[text] ?? text;
  return (
    LEGACY_RUNNER_NAMES.find(
      (name) => id === name || id === `builtin:${name}` || id === `plugin:berth/${name}/default`,
    ) ?? null
  );
}
