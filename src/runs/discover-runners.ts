/** Judges what packages declare, entry by entry: an invalid one costs itself and nothing else (runs §3.1, §3.2). Pure. */
import { ZodError } from "zod";
import { describeRunner, type RunnerDescriptor } from "../domain/runner-manifest.js";
import type { PluginPackage } from "../ports/plugin-packages.js";

export interface Discovered {
  readonly descriptors: readonly RunnerDescriptor[];
  readonly refused: readonly RefusedEntry[];
}

export interface RefusedEntry {
  readonly packageId: string;
  /** What is wrong with the entry, in one phrase. */
  readonly reason: string;
}

/** @param taken ids of the runners that ship: no package takes their place */
export function discoverRunners(packages: readonly PluginPackage[], taken: ReadonlySet<string>): Discovered {
  const byId = new Map<string, RunnerDescriptor>();
  const refused: RefusedEntry[] = [];
  for (const found of packages)
    for (const manifest of found.runnerManifests) {
      const judged = judge(found, manifest);
      const reason = typeof judged === "string" ? judged : findClash(judged.id, taken, byId);
      if (reason !== null) refused.push({ packageId: found.id, reason });
      else if (typeof judged !== "string") byId.set(judged.id, judged);
    }
  return { descriptors: [...byId.values()], refused };
}

/** @returns the descriptor, or what is wrong */
function judge(found: PluginPackage, manifest: unknown): RunnerDescriptor | string {
  const [author = "", plugin = ""] = found.id.split("/");
  try {
    const descriptor = describeRunner(manifest, "plugin", { author, plugin, version: found.version });
    const claimed = `${descriptor.plugin_author}/${descriptor.plugin_name}`;
    return claimed === found.id ? descriptor : `it claims to be of the package ${claimed.slice(0, 200)}`;
  } catch (error) {
    if (error instanceof ZodError) return describeIssue(error);
    throw error;
  }
}

function findClash(
  id: string,
  taken: ReadonlySet<string>,
  known: ReadonlyMap<string, unknown>,
): string | null {
  if (taken.has(id)) return `${id} ships with the service`;
  return known.has(id) ? `${id} stands there twice` : null;
}

function describeIssue({ issues }: ZodError): string {
  const [issue] = issues;
  const place = issue === undefined || issue.path.length === 0 ? "manifest" : issue.path.join(".");
  return `${place}: ${issue?.message ?? "invalid"}`.slice(0, 300);
}
