/**
 * Packages of others: what they declare, and how the process of each is spoken to (runs §3, §8, design §1.2).
 * - A package that throws, hangs, exits or writes nonsense costs the call it was asked for, and nothing else.
 * - The identity of a caller is that of the process it speaks from, never what it says of itself (runs §15.4).
 */
import type { EventType } from "../domain/event.js";
import type { RunnerResult } from "../domain/result.js";
import type { RunContext } from "../domain/run-context.js";
import type { ToolDefinition, ToolOutcome } from "../domain/tool.js";
import type { CallOptions } from "./options.js";
import type { RunHost } from "./run-host.js";

export interface PluginPackage {
  /** `author/plugin` (runs §1.4). */
  readonly id: string;
  readonly version: string;
  /** `AgentRunner` manifests as they are written; the registry judges each by itself (runs §3.1). */
  readonly runnerManifests: readonly unknown[];
  readonly tools: readonly ToolDefinition[];
  readonly listensTo: readonly EventType[];
}

/** What a listening package hears of before the run (runs §8.3). Plain JSON. */
export interface PluginEvent {
  readonly event_type: EventType;
  readonly tenant: string;
  readonly pipeline: string;
  readonly chat: Readonly<Record<string, unknown>> | null;
  readonly text: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What it answers, unchecked: the one who asked parses it (runs §8.3, §8.4). */
export type PluginAnswer = unknown;

export interface PluginPackages {
  /** Rises with each install, uninstall and restart of a package: what was listed before is stale (runs §3.4). */
  readonly generation: number;
  /** @throws whatever went wrong; who lists runners goes on without (runs §3.3) */
  list(options: CallOptions): Promise<readonly PluginPackage[]>;
  /** Runs one runner of a package. @throws ServiceError `runner.error`, `runner.protocol`, `runner.timeout` */
  run(
    runner: { readonly packageId: string; readonly runnerName: string },
    given: { readonly context: RunContext; readonly host: RunHost },
    options: CallOptions,
  ): AsyncIterable<RunnerResult>;
  callTool(
    tool: { readonly packageId: string; readonly name: string },
    parameters: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<ToolOutcome>;
  /** @throws ServiceError `runner.timeout` for a package that takes too long, and whatever else went wrong with it */
  offerEvent(packageId: string, event: PluginEvent, options: CallOptions): Promise<PluginAnswer>;
}
