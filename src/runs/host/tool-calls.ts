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
import type { NativeTool, ToolBox, ToolEvent } from "../../ports/tool.js";
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
  readonly nativeTools: ReadonlyMap<string, NativeTool>;
  /** The bound box, or null before the bind. */
  readonly box: () => ToolBox | null;
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
    const { resource, tool } = this.#authorise(name);
    return { description: resource.description, parameters: resource.parameters ?? tool.parameters };
  }

  async call(request: ToolCallRequest, options: CallOptions): Promise<ToolOutcome> {
    this.#deps.gate.check();
    const { resource, tool } = this.#authorise(request.name);
    const box = this.#deps.box();
    if (box === null)
      return { ok: false, error: `${tool.name} needs a box: bind the run's box first, then call it again.` };
    const startedAt = this.#deps.clock.elapsed();
    let ok = false;
    try {
      await this.#deps.requireEngine(options);
      const hasOwnLimit = resource.effect.kind === "box.exec";
      const outcome = await this.#run(request, { tool, box, hasOwnLimit }, options);
      ok = outcome.ok;
      return outcome;
    } finally {
      const durationMs = this.#deps.clock.elapsed() - startedAt;
      this.#deps.metrics.toolCalled({ tool: tool.name, ok, durationMs });
    }
  }

  async #run(
    request: ToolCallRequest,
    { tool, box, hasOwnLimit }: { tool: NativeTool; box: ToolBox; hasOwnLimit: boolean },
    options: CallOptions,
  ): Promise<ToolOutcome> {
    using limit = new TimeLimit(() => new ServiceError("host.deadline_exceeded", "The tool's time is up."));
    if (!hasOwnLimit) limit.restart(this.#deps.timeoutMs);
    using linked = this.#deps.gate.link(options);
    using limited = linkSignals(linked.signal, limit.signal);
    const call = { id: request.id, input: request.parameters };
    try {
      const events = untilStopped(tool.run(call, box, limited), {
        signal: limited.signal,
        graceMs: STOP_GRACE_MS,
      });
      return await this.#consume(events, request.id);
    } catch (error) {
      this.#deps.gate.check();
      options.signal.throwIfAborted();
      if (limit.signal.aborted)
        return {
          ok: false,
          error: `${tool.name} did not finish within ${this.#deps.timeoutMs / 1000} s and was stopped. Ask for less at once.`,
        };
      if (!(error instanceof ServiceError))
        this.#deps.logger.error({ tool: tool.name }, "A tool failed in an unexpected way.", error);
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

  /** @throws ServiceError `host.not_found` for a name no tool has, `host.unauthorized` for one outside the resources */
  #authorise(name: string): { resource: ToolResource; tool: NativeTool } {
    const resource = this.#deps.resources.find((candidate) => candidate.tool_name === name);
    const tool = this.#deps.nativeTools.get(name);
    const shown = `tool "${name.slice(0, 100)}"`;
    if (resource === undefined && tool === undefined)
      throw new ServiceError("host.not_found", `There is no ${shown}.`);
    if (resource?.source !== "native" || tool === undefined) throw this.#deps.gate.refuse(`the ${shown}`);
    return { resource, tool };
  }
}
