/** The runner `plugin:berth/local-agent/default`: reads its config, sets up, runs the loop, says how it ended (local-agent, runs §18). */
import type { RunnerResult } from "../../domain/result.js";
import type { RunContext } from "../../domain/run-context.js";
import { describeRunner } from "../../domain/runner-manifest.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunHost } from "../../ports/run-host.js";
import type { Runner } from "../../ports/runner.js";
import { AgentRun, type AgentRunDeps } from "./agent-run.js";
import { findConfigFaults, readConfig } from "./config.js";
import { LOCAL_AGENT_MANIFEST } from "./manifest.js";

export class LocalAgentRunner implements Runner {
  readonly descriptor = describeRunner(LOCAL_AGENT_MANIFEST, "builtin");
  readonly #deps: AgentRunDeps;

  constructor(deps: AgentRunDeps) {
    this.#deps = deps;
  }

  findConfigFaults(config: Readonly<Record<string, unknown>>): readonly string[] {
    return findConfigFaults(config);
  }

  planBox(config: Readonly<Record<string, unknown>>): { readonly template: string } | null {
    const { boxEnabled, boxTemplate } = readConfig(config, { models: [] });
    return boxEnabled ? { template: boxTemplate } : null;
  }

  /** Keeps nothing between runs: all state is in the one object made here (local-agent §1.2). */
  run(context: RunContext, host: RunHost, options: CallOptions): AsyncIterable<RunnerResult> {
    return new AgentRun(context, host, this.#deps).results(options);
  }
}
