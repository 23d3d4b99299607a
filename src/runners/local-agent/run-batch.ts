/** Runs the calls of one reply: in parallel where their effects allow it, or one after the other (local-agent §7.4–§7.6). */
import type { Message } from "../../domain/message.js";
import type { RunnerResult } from "../../domain/result.js";
import { asTheyEnd } from "../../lib/as-they-end.js";
import { linkSignals } from "../../lib/link-signals.js";
import type { CallOptions } from "../../ports/options.js";
import { type CallOutcome, type ExecuteDeps, executeCall } from "./execute-call.js";
import { orderCalls } from "./order-calls.js";
import type { PreparedCall } from "./prepare-calls.js";
import type { Results } from "./results.js";

/** Calls of one reply that run at the same time: each may hold a connection to the engine. */
const MAX_AT_ONCE = 16;

export interface Batch {
  readonly calls: readonly PreparedCall[];
  /** The message that asked for the batch; recorded with its first call. */
  readonly assistant: Message;
}

export interface BatchDeps extends ExecuteDeps {
  readonly results: Results;
  readonly mode: "parallel" | "serial";
}

/**
 * Yields starts in order and completions as they come; leaving it stops every call that is still running.
 * @returns the outcomes in the order of the calls
 */
export async function* runBatch(
  batch: Batch,
  deps: BatchDeps,
  options: CallOptions,
): AsyncGenerator<RunnerResult, readonly CallOutcome[]> {
  if (deps.mode === "parallel") return yield* runParallel(batch, deps, options);
  const outcomes: CallOutcome[] = [];
  for (const [position, prepared] of batch.calls.entries()) {
    yield startOf(prepared, position === 0 ? batch.assistant : null, deps);
    const outcome = await executeCall(prepared, deps, options);
    outcomes.push(outcome);
    yield endOf(outcome, deps);
  }
  return outcomes;
}

async function* runParallel(
  batch: Batch,
  deps: BatchDeps,
  options: CallOptions,
): AsyncGenerator<RunnerResult, readonly CallOutcome[]> {
  for (const [position, prepared] of batch.calls.entries())
    yield startOf(prepared, position === 0 ? batch.assistant : null, deps);
  const stop = new AbortController();
  using linked = linkSignals(options.signal, stop.signal);
  const tasks = startInOrder(batch.calls, deps, { signal: linked.signal });
  try {
    for await (const outcome of asTheyEnd(tasks)) yield endOf(outcome, deps);
    return await Promise.all(tasks);
  } finally {
    stop.abort();
    await Promise.allSettled(tasks);
  }
}

/**
 * Each call begins when the calls it depends on have ended, whatever came of them. The one MAX_AT_ONCE places before it
 * is one of them: of the calls that share a place in this way only one runs.
 */
function startInOrder(
  calls: readonly PreparedCall[],
  deps: BatchDeps,
  options: CallOptions,
): readonly Promise<CallOutcome>[] {
  const waits = orderCalls(
    calls.map(({ plan, parameters }) =>
      plan.kind === "execute" ? { effect: plan.tool.effect, parameters } : null,
    ),
  );
  const tasks: Promise<CallOutcome>[] = [];
  for (const [position, prepared] of calls.entries()) {
    const earlier = [...(waits[position] ?? []), position - MAX_AT_ONCE].flatMap((i) => tasks[i] ?? []);
    tasks.push(startAfter(earlier, () => executeCall(prepared, deps, options), options));
  }
  return tasks;
}

async function startAfter(
  earlier: readonly Promise<unknown>[],
  start: () => Promise<CallOutcome>,
  { signal }: CallOptions,
): Promise<CallOutcome> {
  await Promise.allSettled(earlier);
  signal.throwIfAborted();
  return start();
}

function startOf(prepared: PreparedCall, assistant: Message | null, { results }: BatchDeps): RunnerResult {
  return results.started(prepared.call, prepared.parameters, assistant);
}

function endOf(outcome: CallOutcome, { results }: BatchDeps): RunnerResult {
  return results.ended({
    tool_call_id: outcome.call.id,
    tool_name: outcome.call.function.name,
    ...outcome.event,
    model_text: outcome.modelText,
    duration_ms: outcome.durationMs,
  });
}
