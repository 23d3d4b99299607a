/** The loop: ask the model, run the calls it makes, go on until it answers or a limit ends it (local-agent §6). */
import { ServiceError } from "../../domain/errors.js";
import type { Message } from "../../domain/message.js";
import type { FinishReason, RunnerResult } from "../../domain/result.js";
import type { CallOptions } from "../../ports/options.js";
import { NO_REPLY, type Reply } from "./accumulate-stream.js";
import { toAssistantMessage } from "./assistant-message.js";
import type { CallOutcome } from "./execute-call.js";
import { asPhase, phaseFailure } from "./failure.js";
import { type FollowUpDeps, pullFollowUps } from "./follow-ups.js";
import { budgetLine, limitSentence } from "./limit-texts.js";
import type { LastReason, LoopState } from "./loop-state.js";
import type { ModelWalk } from "./model-fallback.js";
import { type PrepareDeps, type PreparedCall, prepareCalls, refuseCalls } from "./prepare-calls.js";
import { type BatchDeps, runBatch } from "./run-batch.js";
import type { ShownText } from "./shown-text.js";

export interface LoopDeps extends PrepareDeps, Omit<FollowUpDeps, "host">, Omit<BatchDeps, "guard" | "host"> {
  readonly walk: ModelWalk;
  readonly shown: ShownText;
  readonly maxIterations: number;
}

export interface LoopEnd {
  readonly finishReason: FinishReason;
  /** The reply that ended the loop. */
  readonly reply: Reply;
  /** What the user reads at the end; empty when the last batch ended the run. */
  readonly text: string;
}

export async function* runLoop(
  state: LoopState,
  deps: LoopDeps,
  options: CallOptions,
): AsyncGenerator<RunnerResult, LoopEnd> {
  for (;;) {
    const { lastReason } = state;
    if (lastReason !== null) return yield* askForLastReply({ state, deps, lastReason }, options);
    const reply = yield* nextReply(state, deps, options);
    if (reply.calls.length === 0) {
      if (yield* goesOn(reply, { state, deps }, options)) continue;
      return { finishReason: "stop", reply, text: reply.shown };
    }
    const outcomes = yield* runCalls(reply, { state, deps }, options);
    const followUps = await pullFollowUps(deps, null, options);
    state.addFollowUps(followUps);
    if (followUps.length === 0 && outcomes.every(({ terminate }) => terminate))
      return { finishReason: "terminate", reply, text: "" };
    if (state.isAlwaysCut) throw alwaysCut(state);
    await asPhase("runner.tool_error", () => deps.hooks.nextTurn?.());
  }
}

/** The run would end with this reply; messages that have come by then are answered as well (§19.1, §11.4). */
async function* goesOn(
  reply: Reply,
  { state, deps }: { readonly state: LoopState; readonly deps: LoopDeps },
  options: CallOptions,
): AsyncGenerator<RunnerResult, boolean> {
  const assistant = toAssistantMessage(reply, []);
  const followUps = await pullFollowUps(deps, assistant, options);
  if (followUps.length === 0) return false;
  yield* deps.shown.snapshot(reply.shown);
  deps.shown.endTurn(reply.shown);
  state.addFollowUps([assistant, ...followUps]);
  return true;
}

interface LastTurn {
  readonly state: LoopState;
  readonly deps: LoopDeps;
  readonly lastReason: LastReason;
}

/** Its text is the answer; without any, a sentence names the limit, and the run still completes (§6.6). */
async function* askForLastReply(turn: LastTurn, options: CallOptions): AsyncGenerator<RunnerResult, LoopEnd> {
  const { state, deps, lastReason } = turn;
  try {
    const reply = yield* nextReply(state, deps, options);
    if (reply.calls.length > 0) return yield* refuseRest(reply, turn, options);
    return { finishReason: lastReason, reply, text: reply.shown };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "runner.empty_reply") throw error;
    return { finishReason: lastReason, reply: NO_REPLY, text: limitSentence(lastReason, deps.maxIterations) };
  }
}

/** A failure in a later turn says what was done before it (§10.6). */
async function* nextReply(
  state: LoopState,
  { walk, offer, hooks, maxIterations }: LoopDeps,
  options: CallOptions,
): AsyncGenerator<RunnerResult, Reply> {
  const { lastReason } = state;
  const tools = [...offer.tools.values()].map(({ definition }) => definition);
  const request =
    lastReason === null
      ? { messages: state.messages, tools }
      : { messages: [...state.messages, budgetLine(lastReason, maxIterations)], tools: [] };
  try {
    const reply = yield* walk.ask(request, options);
    await asPhase("runner.error", () => hooks.afterModel?.(reply));
    return reply;
  } catch (error) {
    throw withProgress(error, state);
  }
}

async function* runCalls(
  reply: Reply,
  { state, deps }: { readonly state: LoopState; readonly deps: LoopDeps },
  options: CallOptions,
): AsyncGenerator<RunnerResult, readonly CallOutcome[]> {
  try {
    const calls = await prepareCalls(reply, deps, options);
    return yield* recordBatch(reply, { calls, state, deps }, options);
  } catch (error) {
    options.signal.throwIfAborted();
    throw phaseFailure("runner.tool_error", error);
  }
}

async function* recordBatch(
  reply: Reply,
  batch: { readonly calls: readonly PreparedCall[]; readonly state: LoopState; readonly deps: LoopDeps },
  options: CallOptions,
): AsyncGenerator<RunnerResult, readonly CallOutcome[]> {
  const { calls, state, deps } = batch;
  const toolCalls = calls.map(({ call }) => call);
  const assistant = toAssistantMessage(reply, toolCalls);
  yield* deps.shown.snapshot(reply.shown, { calls: toolCalls });
  deps.shown.endTurn(reply.shown);
  const outcomes = yield* runBatch({ calls, assistant }, { ...deps, guard: state.guard }, options);
  state.addBatch(assistant, calls, outcomes);
  return outcomes;
}

/** The last reply still wants tools: nothing runs, its text stays, and a sentence names the limit (§6.6). */
async function* refuseRest(
  reply: Reply,
  { state, deps, lastReason }: LastTurn,
  options: CallOptions,
): AsyncGenerator<RunnerResult, LoopEnd> {
  const sentence = limitSentence(lastReason, deps.maxIterations);
  const calls = refuseCalls(reply, "Not executed: limit reached. No further tools run in this run.", deps);
  // The text goes with the final message, so that the history has it once.
  const toolCalls = calls.map(({ call }) => call);
  const assistant: Message = { ...toAssistantMessage(reply, toolCalls), content: null };
  yield* runBatch({ calls, assistant }, { ...deps, guard: state.guard }, options);
  const text = [reply.shown.trim(), sentence].filter(Boolean).join("\n\n");
  return { finishReason: lastReason, reply: { ...reply, calls: [] }, text };
}

function withProgress(error: unknown, state: LoopState): unknown {
  if (!(error instanceof ServiceError) || state.batches === 0) return error;
  if (error.code !== "runner.llm_error" && error.code !== "runner.empty_reply") return error;
  const { code, message, details, retryable, hint, cause } = error;
  return new ServiceError(code, `${message} ${state.doneSoFar}`, { details, retryable, hint, cause });
}

function alwaysCut(state: LoopState): ServiceError {
  return new ServiceError(
    "runner.llm_error",
    `The model's tool calls never fit its output limit: 3 replies in a row were cut. ${state.doneSoFar}`,
    { retryable: false, hint: "Ask for smaller pieces, or raise the model's output limit." },
  );
}
