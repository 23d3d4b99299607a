/** The answer of `berth check-config FILE`: the same check as at start, in words (api §8). */
import { formatFault } from "./config-fault.js";
import type { LoadedConfig } from "./load-config.js";

/** Exit code of a start with a faulty configuration: `EX_CONFIG`. */
export const CONFIG_EXIT_CODE = 78;

/** @returns text that ends with a line break; every fault has a line of its own */
export function describeLoadedConfig(loaded: LoadedConfig): string {
  const name = loaded.file ?? "the built-in configuration";
  if (!loaded.ok) {
    const count = loaded.faults.length === 1 ? "1 fault" : `${loaded.faults.length} faults`;
    return `${[`${name}: ${count}`, ...loaded.faults.map((fault) => `  ${formatFault(fault)}`)].join("\n")}\n`;
  }
  const { models, pipelines } = loaded.config;
  const parts = [
    `${name}: no faults`,
    `  models: ${models.map(({ id }) => id).join(", ") || "demo"}`,
    `  pipelines: ${pipelines.map(({ id }) => id).join(", ")}`,
    ...loaded.notices.map((notice) => `  ${notice}`),
  ];
  return `${parts.join("\n")}\n`;
}
