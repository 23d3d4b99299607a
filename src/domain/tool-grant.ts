/** How policies and runner configs name tools: by name alone, or with the source they come from (runs §15.2). */
import type { ToolResource, ToolSourceRef } from "./tool.js";

/** A grant with a source: `<source>:<source id>/<tool>`, where `*` stands for every tool of the source. */
const SOURCED = /^(native|plugin|mcp|skill):(.+)\/([^/]+)$/u;

/** What is read of one entry; without a source it speaks of any. */
export interface ToolGrant {
  readonly ref: ToolSourceRef | null;
  /** `*` only together with a source. */
  readonly name: string;
}

export function parseToolGrant(text: string): ToolGrant {
  const [, source, sourceId, name] = SOURCED.exec(text) ?? [];
  if (source === undefined || sourceId === undefined || name === undefined) return { ref: null, name: text };
  return { ref: { source, source_id: sourceId }, name };
}

/** Whether the grant speaks of the tool. */
export function grantsTool(
  { ref, name }: ToolGrant,
  tool: Pick<ToolResource, "tool_name" | "source" | "source_id">,
): boolean {
  if (ref === null) return name === tool.tool_name;
  return isSameSource(ref, tool) && (name === "*" || name === tool.tool_name);
}

export function isSameSource(one: ToolSourceRef, other: ToolSourceRef): boolean {
  return one.source === other.source && one.source_id === other.source_id;
}
