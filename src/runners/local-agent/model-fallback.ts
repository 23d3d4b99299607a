/** Asks the run's models until one answers; the first that does answers all later turns (local-agent §6.4, §10). */
import { ServiceError } from "../../domain/errors.js";
import type { Message } from "../../domain/message.js";
import type { ModelResource } from "../../domain/resources.js";
import type { RunnerResult } from "../../domain/result.js";
import type { ToolDefinition } from "../../domain/tool.js";
import { addTurn, NO_USAGE, type TurnUsage, type Usage } from "../../domain/usage.js";
import { delay } from "../../lib/delay.js";
import type { CallOptions } from "../../ports/options.js";
import { isEmptyReply, type Reply } from "./accumulate-stream.js";
import { type AskDeps, type Attempt, callModel } from "./call-model.js";
import { errorText } from "./failure.js";
import { type FailureKind, failureKind, MAX_WAIT_MS, type NextStep, nextStep } from "./failure-policy.js";
import type { Results } from "./results.js";
import { hasImages, toWireHistory } from "./wire-history.js";

export interface WalkDeps extends AskDeps {
  readonly results: Results;
  /** Primary first; never empty. */
  readonly models: readonly ModelResource[];
  readonly removeThink: boolean;
  readonly imageNotes: ReadonlyMap<string, string>;
  /** Milliseconds the run has left. */
  readonly timeLeftMs: () => number;
}

export interface TurnRequest {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
}

/** What one turn has tried so far. */
interface TurnState {
  candidates: readonly ModelResource[];
  retries: number;
  isReminded: boolean;
  withoutImages: boolean;
}

interface Failure {
  readonly kind: FailureKind;
  readonly model: ModelResource;
  readonly text: string;
  readonly cause: unknown;
}

type Verdict =
  | { readonly ok: true; readonly reply: Reply }
  | { readonly ok: false; readonly failure: Failure };

const REMINDER: Message = {
  role: "user",
  content: "Your last reply was empty. Answer now, with text or with a tool call.",
};

export class ModelWalk {
  readonly #deps: WalkDeps;
  /** Models that closed thinking they had not opened: their text is held back (§11.6). */
  readonly #heldBack = new Set<string>();
  #committed: ModelResource | null = null;
  #waitedMs = 0;
  #usage: Usage = NO_USAGE;

  constructor(deps: WalkDeps) {
    this.#deps = deps;
  }

  get committed(): ModelResource | null {
    return this.#committed;
  }

  get usage(): Usage {
    return this.#usage;
  }

  /** @throws ServiceError `runner.llm_error`, `runner.empty_reply`, `runner.context_overflow`, or what stopped the run */
  async *ask(turn: TurnRequest, options: CallOptions): AsyncGenerator<RunnerResult, Reply> {
    const state: TurnState = {
      candidates: this.#committed === null ? this.#deps.models : [this.#committed],
      retries: 0,
      isReminded: false,
      withoutImages: false,
    };
    for (;;) {
      const model = state.candidates[0];
      if (model === undefined) throw new ServiceError("runner.no_model", "No model is left to ask.");
      const attempt = yield* callModel(this.#toAsk(turn, model, state), this.#deps, options);
      const verdict = this.#judge(attempt, model);
      if (verdict.ok) return verdict.reply;
      const { failure } = verdict;
      const step = nextStep(failure.kind, this.#walkState(turn, { state, attempt, model }));
      if (step.step === "fail") throw toFailure(step.as, failure);
      yield this.#trace(failure, { step, state });
      await this.#follow(step, { state, model, options });
    }
  }

  #toAsk(turn: TurnRequest, model: ModelResource, state: TurnState): Parameters<typeof callModel>[0] {
    const { removeThink, imageNotes } = this.#deps;
    const vision = model.abilities.includes("vision") && !state.withoutImages;
    const messages = toWireHistory(turn.messages, { vision, imageNotes });
    return {
      model,
      messages: state.isReminded ? [...messages, REMINDER] : messages,
      tools: model.abilities.includes("func_call") ? turn.tools : [],
      removeThink,
      holdsBack: this.#heldBack.has(model.model_id),
    };
  }

  /** Commits and counts. */
  #judge(attempt: Attempt, model: ModelResource): Verdict {
    if (!attempt.ok) {
      if (attempt.hasOutput) this.#committed = model;
      if (attempt.hasOutput || attempt.usage !== null) this.#count(attempt.usage);
      const { error } = attempt;
      return {
        ok: false,
        failure: { kind: failureKind(error), model, text: errorText(error), cause: error },
      };
    }
    const { reply } = attempt;
    this.#count(reply.usage);
    if (reply.closedUnopenedThinking) this.#heldBack.add(model.model_id);
    if (!isEmptyReply(reply)) {
      this.#committed = model;
      return { ok: true, reply };
    }
    this.#keepShown(reply, model);
    return { ok: false, failure: { kind: "empty", model, text: "The reply was empty.", cause: undefined } };
  }

  /** Thinking that the user saw stays, and no other model is glued to it. */
  #keepShown(reply: Reply, model: ModelResource): void {
    if (!this.#deps.shown.isStreaming || reply.shown.trim() === "") return;
    this.#committed = model;
    this.#deps.shown.endTurn(reply.shown);
  }

  #walkState(
    turn: TurnRequest,
    { state, attempt, model }: { state: TurnState; attempt: Attempt; model: ModelResource },
  ): Parameters<typeof nextStep>[1] {
    const isCommitted = this.#committed !== null;
    return {
      isShown: !attempt.ok && attempt.shownText !== "",
      isLast: isCommitted || state.candidates.length === 1,
      hasLargerCandidate: !isCommitted && largerThan(model, state.candidates).length > 0,
      hasImages: model.abilities.includes("vision") && !state.withoutImages && hasImages(turn.messages),
      retries: state.retries,
      isReminded: state.isReminded,
      waitLeftMs: Math.min(MAX_WAIT_MS - this.#waitedMs, this.#deps.timeLeftMs()),
    };
  }

  async #follow(
    step: Exclude<NextStep, { readonly step: "fail" }>,
    { state, model, options }: { state: TurnState; model: ModelResource; options: CallOptions },
  ): Promise<void> {
    switch (step.step) {
      case "next_candidate":
        state.candidates = state.candidates.slice(1);
        return;
      case "larger_candidate":
        state.candidates = largerThan(model, state.candidates);
        return;
      case "retry":
        state.retries += 1;
        this.#waitedMs += step.waitMs;
        await delay(step.waitMs, options);
        return;
      case "remind":
        state.isReminded = true;
        return;
      case "drop_images":
        state.withoutImages = true;
    }
  }

  /** One line of the run's trace per failed candidate or retry (§10.8). */
  #trace(
    { kind, model, text }: Failure,
    {
      step,
      state,
    }: { readonly step: Exclude<NextStep, { readonly step: "fail" }>; readonly state: TurnState },
  ): RunnerResult {
    const next = {
      next_candidate: `${state.candidates[1]?.model_id ?? "the next model"} is asked`,
      larger_candidate: "a model with a larger window is asked",
      retry: `it is asked again, retry ${state.retries + 1}`,
      remind: "it is asked once more, with a reminder",
      drop_images: "it is asked again without images",
    }[step.step];
    const code =
      step.step === "next_candidate" || step.step === "larger_candidate" ? "model.fallback" : "model.retry";
    return this.#deps.results.warning({
      code,
      message: `The model ${model.model_id} failed (${kind}): ${text} So ${next}.`,
    });
  }

  #count(usage: TurnUsage | null): void {
    this.#usage = addTurn(this.#usage, usage);
  }
}

/** Later candidates with a window that is known to be larger. */
function largerThan(model: ModelResource, candidates: readonly ModelResource[]): readonly ModelResource[] {
  const window = model.context_window ?? Number.POSITIVE_INFINITY;
  return candidates.slice(1).filter((candidate) => (candidate.context_window ?? 0) > window);
}

function toFailure(
  as: Extract<NextStep, { readonly step: "fail" }>["as"],
  { text, cause }: Failure,
): unknown {
  switch (as) {
    case "stop":
      return cause;
    case "ours":
      return new ServiceError("runner.error", `The model call failed: ${text}`, { cause });
    case "shown":
      return new ServiceError(
        "runner.llm_error",
        `The model failed after its answer had begun, no fallback possible: ${text}`,
        { cause, retryable: false },
      );
    case "overflow":
      return new ServiceError("runner.context_overflow", `The request does not fit the model: ${text}`, {
        cause,
        hint: "Begin a new conversation, or use a model with a larger window.",
      });
    case "empty":
      return new ServiceError("runner.empty_reply", "The model gave an empty reply twice.", { cause });
    default:
      return new ServiceError("runner.llm_error", `All models failed. Last error: ${text}`, { cause });
  }
}
