/** The runners that ship with the service. */
import type { Runner } from "../ports/runner.js";
import type { AgentRunDeps } from "./local-agent/agent-run.js";
import { LocalAgentRunner } from "./local-agent/local-agent-runner.js";

export function bundledRunners(deps: AgentRunDeps): readonly Runner[] {
  return [new LocalAgentRunner(deps)];
}
