/** `call_tool` and `get_tool_detail`: authorised by name and frozen source, live output goes into the run's events (runs §15). */
import { ServiceError } from "../../domain/errors.js";
import type { JsonSchema, ToolOutcome, ToolResource } from "../../domain/tool.js";
import { linkSignals } from "../../lib/link-signals.js";
import type { SecretMask } from "../../lib/secret-mask.js";
import { TimeLimit } from "../../lib/time-limit.js";
import type { Clock } from "../../ports/clock.js";
import type { Logger } from "../../ports/logger.js";
import type { Metrics } from "../../ports/metrics.js";
import type { CallOptions } from "../../ports/options.js";
import type { ToolEvent } from "../../ports/tool.js";
import type { RunToolBox, SourcedCall, ToolSource } from "../../ports/tool-source.js";
import type { ToolCatalog } from "../../tools/tool-catalog.js";
import type { RunRecorder } from "../record-run.js";
import { untilStopped } from "../until-stopped.js";
import type { RunGate } from "./run-gate.js";

/** Milliseconds a tool is waited for after it was stopped; one that does not react holds up nobody. */
const STOP_GRACE_MS = 1000;

export interface ToolCallDeps {
  readonly gate: RunGate;
  readonly recorder: RunRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Goes over everything that a tool says (box §10.7). */
  readonly mask: SecretMask;
  readonly resources: readonly ToolResource[];
  readonly catalog: Pick<ToolCatalog, "find" | "hostNames">;
  /** Names of tools that are there and not this run's: a call of one is refused, not unknown. */
  readonly otherNames: ReadonlySet<string>;
  /** The bound box, or null before the bind. */
  readonly box: () => RunToolBox | null;
  /** Checked at each call: boxes are to be had (box §13). @throws ServiceError `box.engine_unavailable`, `box.readiness` */
  readonly requireEngine: (options: CallOptions) => Promise<void>;
  /** Limit of one call in milliseconds; commands have their own (local-agent §7.6). */
  readonly timeoutMs: number;
}

export interface ToolCallRequest {
  readonly id: string;
  readonly name: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export class ToolCalls {
  readonly #deps: ToolCallDeps;

  constructor(deps: ToolCallDeps) {
    this.#deps = deps;
  }

  async detail(name: string): Promise<{ description: string; parameters: JsonSchema }> {
    this.#deps.gate.check();
    const { description, parameters } = this.#authorise(name).resource;
    return { description, parameters: parameters ?? { type: "object", properties: {} } };
  }

  async call({ id, name, parameters }: ToolCallRequest, options: CallOptions): Promise<ToolOutcome> {
    this.#deps.gate.check();
    const { resource, source } = this.#authorise(name);
    const box = this.#deps.box();
    const needsBox = resource.effect.kind !== "none";
    if (box === null && needsBox)
      return { ok: false, error: `${name} needs a box: bind the run's box first, then call it again.` };
    const startedAt = this.#deps.clock.elapsed();
    let ok = false;
    try {
      if (needsBox) await this.#deps.requireEngine(options);
      const outcome = await this.#run({ id, resource, input: parameters }, { source, box }, options);
      ok = outcome.ok;
      return outcome;
    } finally {
      const durationMs = this.#deps.clock.elapsed() - startedAt;
      this.#deps.metrics.toolCalled({ tool: metricName(resource), ok, durationMs });
    }
  }

  async #run(
    call: SourcedCall,
    { source, box }: { readonly source: ToolSource; readonly box: RunToolBox | null },
    options: CallOptions,
  ): Promise<ToolOutcome> {
    const { tool_name: name } = call.resource;
    using limit = new TimeLimit(() => new ServiceError("host.deadline_exceeded", "The tool's time is up."));
    if (!hasOwnLimit(call.resource)) limit.restart(this.#deps.timeoutMs);
    using linked = this.#deps.gate.link(options);
    using limited = linkSignals(linked.signal, limit.signal);
    try {
      const events = untilStopped(source.run(call, box, limited), {
        signal: limited.signal,
        graceMs: STOP_GRACE_MS,
      });
      return await this.#consume(events, call.id);
    } catch (error) {
      this.#deps.gate.check();
      options.signal.throwIfAborted();
      if (limit.signal.aborted)
        return {
          ok: false,
          error: `${name} did not finish within ${this.#deps.timeoutMs / 1000} s and was stopped. Ask for less at once.`,
        };
      if (!(error instanceof ServiceError))
        this.#deps.logger.error({ tool: name }, "A tool failed in an unexpected way.", error);
      throw error;
    }
  }

  async #consume(events: AsyncIterable<ToolEvent>, callId: string): Promise<ToolOutcome> {
    const { mask } = this.#deps;
    const streams = { stdout: mask.stream(), stderr: mask.stream() };
    let outcome: ToolOutcome | null = null;
    for await (const event of events) {
      if (event.type === "outcome") outcome = event.outcome;
      else await this.#show(callId, event.stream, streams[event.stream].push(event.text));
    }
    for (const stream of ["stdout", "stderr"] as const)
      await this.#show(callId, stream, streams[stream].end());
    if (outcome !== null) return mask.value(outcome);
    throw new ServiceError("runner.tool_error", "A tool ended without an outcome.");
  }

  async #show(callId: string, stream: "stdout" | "stderr", text: string): Promise<void> {
    if (text !== "") await this.#deps.recorder.emit("tool.output", { tool_call_id: callId, stream, text });
  }

  /**
   * The call goes to the source that was frozen with the tool, and to no other of that name.
   * @throws ServiceError `host.not_found` for a name no tool has, `host.unauthorized` for one outside the resources
   */
  #authorise(name: string): { resource: ToolResource; source: ToolSource } {
    const { resources, catalog, otherNames, gate } = this.#deps;
    const resource = resources.find((candidate) => candidate.tool_name === name);
    const shown = `tool "${name.slice(0, 100)}"`;
    if (resource === undefined && !catalog.hostNames.has(name) && !otherNames.has(name))
      throw new ServiceError("host.not_found", `There is no ${shown}.`);
    const source = resource === undefined ? null : catalog.find(resource);
    if (resource === undefined || source === null) throw gate.refuse(`the ${shown}`);
    return { resource, source };
  }
}

/** Others may name their tools as they like, and change the names: their calls are counted by source. */
function metricName({ source, source_id: id, tool_name: name }: ToolResource): string {
  return source === "native" ? name : `${source}:${id}`;
}

/** Commands have a time limit of their own. */
function hasOwnLimit({ source, effect }: ToolResource): boolean {
  return source === "native" && effect.kind === "box.exec";
}
