/** One run of the local agent, from its context to its terminal result (local-agent §6, §18, runs §18, §23). */
import { ServiceError } from "../../domain/errors.js";
import type { RunnerResult } from "../../domain/result.js";
import type { RunContext } from "../../domain/run-context.js";
import { NO_USAGE } from "../../domain/usage.js";
import { linkSignals } from "../../lib/link-signals.js";
import { TimeLimit } from "../../lib/time-limit.js";
import type { Clock } from "../../ports/clock.js";
import type { IdSource } from "../../ports/id-source.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunHost } from "../../ports/run-host.js";
import { type LoopEnd, runLoop } from "./agent-loop.js";
import { assemblePrompt } from "./assemble-prompt.js";
import { toHistoryMessage } from "./assistant-message.js";
import { type AgentConfig, readConfig } from "./config.js";
import { errorText } from "./failure.js";
import type { AgentHooks } from "./hooks.js";
import { limitWarnings } from "./limit-texts.js";
import { LoopState } from "./loop-state.js";
import { ModelWalk } from "./model-fallback.js";
import { offerTools, type ToolOffer } from "./offer-tools.js";
import { stoppedAtLimit } from "./prepare-calls.js";
import { Results } from "./results.js";
import { setUpBox } from "./set-up-box.js";
import { ShownText } from "./shown-text.js";

export interface AgentRunDeps {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly hooks?: AgentHooks | undefined;
}

/** What the loop works with, once everything before the first model call is done. */
interface Setup {
  readonly walk: ModelWalk;
  readonly state: LoopState;
  readonly offer: ToolOffer;
  readonly shown: ShownText;
  readonly usedIds: Set<string>;
}

export class AgentRun {
  readonly #context: RunContext;
  readonly #host: RunHost;
  readonly #deps: AgentRunDeps;
  readonly #config: AgentConfig;
  readonly #results: Results;
  readonly #endsAtMs: number;
  #setup: Setup | null = null;

  constructor(context: RunContext, host: RunHost, deps: AgentRunDeps) {
    this.#context = context;
    this.#host = host;
    this.#deps = deps;
    this.#config = readConfig(context.config, context.resources);
    this.#results = new Results(context.run_id);
    const { timeoutMs } = this.#config;
    const hostEndMs = context.runtime.deadline_at * 1000;
    this.#endsAtMs = Math.min(hostEndMs, timeoutMs === null ? hostEndMs : deps.clock.now() + timeoutMs);
  }

  /** Ends with exactly one terminal result, whatever happens; a reader that leaves early stops the work. */
  async *results({ signal }: CallOptions): AsyncGenerator<RunnerResult, void> {
    using limit = new TimeLimit(() => this.#timeout());
    using linked = linkSignals(signal, limit.signal);
    if (this.#config.timeoutMs !== null) limit.restart(this.#config.timeoutMs);
    try {
      yield* this.#work({ signal: linked.signal });
    } catch (error) {
      yield this.#failed(linked.signal.aborted ? toStop(linked.signal.reason) : error);
    }
  }

  async *#work(options: CallOptions): AsyncGenerator<RunnerResult, void> {
    options.signal.throwIfAborted();
    if (this.#config.models.length === 0)
      throw new ServiceError("runner.no_model", "The runner has no model that this run may use.", {
        hint: "Select a model that is configured and granted.",
      });
    const setup = await this.#prepare(options);
    this.#setup = setup;
    for (const warning of setup.offer.warnings) yield this.#results.warning(warning);
    const end = yield* runLoop(setup.state, this.#loopDeps(setup), options);
    yield* this.#finish(setup, end);
  }

  /** Box and files come before the model (box §4.8). */
  async #prepare(options: CallOptions): Promise<Setup> {
    const [context, host, config] = [this.#context, this.#host, this.#config];
    const box = await setUpBox(context, { host, boxEnabled: config.boxEnabled }, options);
    const offer = await offerTools(context.resources.tools, { host, hasBox: box.box !== null }, options);
    const now = this.#deps.clock.now();
    const prompt = await assemblePrompt(context, { host, config, setup: box, now }, options);
    const streaming = context.delivery.supports_streaming && context.runtime.metadata.streaming_supported;
    const shown = new ShownText(this.#results, streaming);
    const walk = new ModelWalk({
      host,
      clock: this.#deps.clock,
      results: this.#results,
      shown,
      models: config.models,
      removeThink: config.removeThink,
      imageNotes: prompt.imageNotes,
      timeLeftMs: () => this.#endsAtMs - this.#deps.clock.now(),
    });
    const state = new LoopState(prompt.messages, config.maxToolIterations);
    const ids = prompt.messages.flatMap((message) => message.tool_calls ?? []).map(({ id }) => id);
    return { walk, state, offer, shown, usedIds: new Set(ids) };
  }

  #loopDeps({ walk, offer, shown, usedIds }: Setup): Parameters<typeof runLoop>[1] {
    return {
      walk,
      offer,
      shown,
      usedIds,
      host: this.#host,
      canSteer: this.#context.context.available_apis.steering_pull,
      results: this.#results,
      clock: this.#deps.clock,
      ids: this.#deps.ids,
      hooks: this.#deps.hooks ?? {},
      mode: this.#config.toolExecutionMode,
      maxIterations: this.#config.maxToolIterations,
      maxResultChars: this.#config.maxToolResultChars,
    };
  }

  *#finish(
    { walk, state, shown }: Setup,
    { reply, text, finishReason }: LoopEnd,
  ): Generator<RunnerResult, void> {
    if (text.trim() !== "") {
      yield* shown.snapshot(text, { isFinal: true });
      const message = { role: "assistant" as const, content: text };
      yield this.#results.message(message, toHistoryMessage(reply, text));
    }
    const model = walk.committed;
    const warnings = limitWarnings(finishReason, {
      maxIterations: this.#config.maxToolIterations,
      isTextCut: reply.calls.length === 0 && stoppedAtLimit(reply),
      model,
    });
    yield this.#results.completed(
      {
        finish_reason: finishReason,
        tool_rounds: state.batches,
        ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
        ...(model === null ? {} : { model: model.model_id }),
      },
      walk.usage,
    );
  }

  #failed(error: unknown): RunnerResult {
    const { code, message, retryable, hint } = toRunFailure(error);
    const model = this.#setup?.walk.committed;
    return this.#results.failed(
      {
        code,
        error: message,
        retryable,
        ...(hint === undefined ? {} : { hint }),
        ...(model ? { model: model.model_id } : {}),
        tool_rounds: this.#setup?.state.batches ?? 0,
      },
      this.#setup?.walk.usage ?? NO_USAGE,
    );
  }

  #timeout(): ServiceError {
    const seconds = (this.#config.timeoutMs ?? 0) / 1000;
    return new ServiceError("runner.timeout", `The run did not end within its time limit of ${seconds} s.`);
  }
}

/** Why the run was stopped: the host says so in the reason, and a bare abort is a cancel (§6.9). */
function toStop(reason: unknown): ServiceError {
  if (reason instanceof ServiceError) return reason;
  return new ServiceError("cancelled", "The run was cancelled.", { cause: reason });
}

/** Codes of the host become codes of the run; what is not ours is told in one clean line (runs §23). */
function toRunFailure(error: unknown): ServiceError {
  if (!(error instanceof ServiceError)) {
    return new ServiceError("runner.error", `The local agent failed: ${errorText(error)}`, { cause: error });
  }
  if (error.code === "host.deadline_exceeded")
    return new ServiceError("runner.timeout", "The run had no time left.", { cause: error });
  if (error.code.startsWith("host.") || error.code === "internal")
    return new ServiceError("runner.error", error.message, { cause: error, hint: error.hint });
  return error;
}
