/** The tools of a run: manifest, policy and selection must agree, and no name is ever shadowed (runs §15.1, §15.2). */

import { isSwitchedOn } from "../domain/access-switches.js";
import type { Binding, RunnerConfig } from "../domain/binding.js";
import type { RunWarning } from "../domain/result.js";
import type { RunnerDescriptor } from "../domain/runner-manifest.js";
import { isHostSource, type ToolResource, type ToolSourceRef } from "../domain/tool.js";
import { grantsTool, isSameSource, parseToolGrant, type ToolGrant } from "../domain/tool-grant.js";
import type { WantedSource } from "../ports/tool-source.js";
import { mayReadResources } from "./mcp-reading.js";

export interface AuthorisedTools {
  readonly granted: readonly ToolResource[];
  readonly warnings: readonly RunWarning[];
}

/** A tool that has no grant of its own, and the one whose grant it shares (box §13). */
const GRANTED_WITH: ReadonlyMap<string, string> = new Map([["job", "exec"]]);

export interface OfferedTools {
  /** What the sources list. */
  readonly tools: readonly ToolResource[];
  /** Names of the service's own tools, offered or not. */
  readonly hostNames: ReadonlySet<string>;
}

export function authoriseTools(
  binding: Binding,
  runner: RunnerDescriptor,
  { tools, hostNames }: OfferedTools,
): AuthorisedTools {
  if (!mayCallTools(runner)) return { granted: [], warnings: [] };
  const grants = readGrants(binding);
  const inReach = tools.filter((tool) => isInScope(tool, grants) && isSelected(tool, grants));
  const readable = inReach.filter((tool) => mayReadResources(binding.config, tool));
  return resolveNames(readable, { grants, hostNames });
}

/**
 * Whether a tool of the source can come into question at all: no other source has to be asked for its list.
 * @returns a predicate for `ToolScope.wants`
 */
export function wantsSource(binding: Binding, runner: RunnerDescriptor): (wanted: WantedSource) => boolean {
  if (!mayCallTools(runner)) return () => false;
  const { sources, names, selected, selectsAll } = readGrants(binding);
  return (wanted) => {
    // The service's own cost nothing, and their names must be known to be taken.
    if (isHostSource(wanted)) return true;
    const isMeant = (ref: ToolSourceRef): boolean =>
      ref.source === wanted.source && (wanted.source_id === null || ref.source_id === wanted.source_id);
    const isNamed = (grants: readonly ToolGrant[]): boolean =>
      grants.some(({ ref }) => ref === null || isMeant(ref));
    if (sources !== null && !sources.some(isMeant)) return false;
    return (names === null || isNamed(names)) && (selectsAll || isNamed(selected));
  };
}

interface Grants {
  /** Null = no limit. */
  readonly names: readonly ToolGrant[] | null;
  readonly sources: readonly ToolSourceRef[] | null;
  readonly selected: readonly ToolGrant[];
  readonly selectsAll: boolean;
}

function mayCallTools({ capabilities, permissions }: RunnerDescriptor): boolean {
  return capabilities.tool_calling && permissions.tools.includes("call");
}

/** What widens access counts only as the boolean true (runs §5.6). */
function readGrants({ policy, config }: Pick<Binding, "policy" | "config">): Grants {
  return {
    names: policy.allowed_tool_names?.map(parseToolGrant) ?? null,
    sources: policy.allowed_tool_sources,
    selected: selectedTools(config),
    selectsAll: isSwitchedOn(config, "enable-all-tools") && policy.allow_all_tools,
  };
}

/** The key `tools`: a list of grants; anything else in it selects nothing. */
function selectedTools(config: RunnerConfig): readonly ToolGrant[] {
  const listed: unknown = config["tools"];
  if (!Array.isArray(listed)) return [];
  return listed.flatMap((entry: unknown) =>
    typeof entry === "string" ? [parseToolGrant(entry.trim())] : [],
  );
}

/** What the policy allows. */
function isInScope(tool: ToolResource, grants: Grants): boolean {
  if (!isAllowedSource(tool, grants)) return false;
  if (grants.names === null) return true;
  const shared = tool.source === "native" ? GRANTED_WITH.get(tool.tool_name) : undefined;
  const asked = shared === undefined ? tool : { ...tool, tool_name: shared };
  return grants.names.some((grant) => grantsTool(grant, asked));
}

function isAllowedSource(ref: ToolSourceRef, { sources }: Grants): boolean {
  return sources === null || sources.some((source) => isSameSource(source, ref));
}

/** Tools of the service are the policy's matter alone; the others have to be selected, for their lists are open. */
function isSelected(tool: ToolResource, { selected, selectsAll }: Grants): boolean {
  return isHostSource(tool) || selectsAll || selected.some((grant) => grantsTool(grant, tool));
}

/** A name that several sources offer goes to the one that a grant names; without such a grant nobody gets it. */
function resolveNames(
  tools: readonly ToolResource[],
  { grants, hostNames }: { readonly grants: Grants; readonly hostNames: ReadonlySet<string> },
): AuthorisedTools {
  const free = tools.filter((tool) => isHostSource(tool) || !hostNames.has(tool.tool_name));
  const granted = free.filter((tool) => {
    const rivals = free.filter(({ tool_name }) => tool_name === tool.tool_name);
    if (rivals.length === 1) return true;
    const named = rivals.filter((rival) => isNamedWithSource(rival, grants));
    return named.length === 1 && named[0] === tool;
  });
  const shadowing = tools.filter((tool) => !free.includes(tool)).map(shadowWarning);
  const lost = new Set(free.map(({ tool_name }) => tool_name));
  for (const { tool_name } of granted) lost.delete(tool_name);
  const ambiguous = [...lost].map((name) =>
    ambiguityWarning(free.filter(({ tool_name }) => tool_name === name)),
  );
  return { granted, warnings: [...shadowing, ...ambiguous] };
}

function isNamedWithSource(tool: ToolResource, { names, selected }: Grants): boolean {
  return [...(names ?? []), ...selected].some((grant) => grant.ref !== null && grantsTool(grant, tool));
}

function shadowWarning({ tool_name: name, source, source_id: id }: ToolResource): RunWarning {
  return {
    code: "resources.tool_hidden",
    message: `The tool "${name}" of ${source} "${id}" is hidden: the service has a tool of that name.`,
  };
}

function ambiguityWarning(rivals: readonly ToolResource[]): RunWarning {
  const name = rivals[0]?.tool_name ?? "";
  const grants = rivals.map(({ source, source_id }) => `${source}:${source_id}/${name}`);
  return {
    code: "resources.tool_hidden",
    message: `The tool "${name}" is hidden: ${rivals.length} sources offer it. Name one in the grant: ${grants.join(" or ")}.`,
  };
}
