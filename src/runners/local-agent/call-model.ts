/** One call of one model: streamed with snapshots on the way, or whole (local-agent §10.1, §11). A failure is a value. */
import type { Message } from "../../domain/message.js";
import type { ModelResource } from "../../domain/resources.js";
import type { RunnerResult } from "../../domain/result.js";
import type { ToolDefinition } from "../../domain/tool.js";
import type { TurnUsage } from "../../domain/usage.js";
import { endsWithin } from "../../lib/delay.js";
import { linkSignals } from "../../lib/link-signals.js";
import type { ChatReply } from "../../ports/chat-model.js";
import type { Clock } from "../../ports/clock.js";
import type { CallOptions } from "../../ports/options.js";
import type { ModelCall, RunHost } from "../../ports/run-host.js";
import { type Reply, ReplyAccumulator } from "./accumulate-stream.js";
import type { ShownText } from "./shown-text.js";

export interface ModelAsk {
  readonly model: ModelResource;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly removeThink: boolean;
  /** See `ReplyTextOptions.holdsBack`. */
  readonly holdsBack: boolean;
}

export interface AskDeps {
  readonly host: RunHost;
  readonly clock: Clock;
  readonly shown: ShownText;
}

export type Attempt =
  | { readonly ok: true; readonly reply: Reply }
  | {
      readonly ok: false;
      readonly error: unknown;
      /** The reply's text as far as the user saw it; empty = nothing was shown. */
      readonly shownText: string;
      /** Text or call data had come: the candidate is committed (§11.1). */
      readonly hasOutput: boolean;
      readonly usage: TurnUsage | null;
    };

/** Yields snapshots of the reply; the last one is the caller's, who knows what the calls are. */
export async function* callModel(
  ask: ModelAsk,
  deps: AskDeps,
  options: CallOptions,
): AsyncGenerator<RunnerResult, Attempt> {
  const accumulator = new ReplyAccumulator({
    removeThink: ask.removeThink,
    holdsBack: ask.holdsBack,
    offered: new Set(ask.tools.map(({ name }) => name)),
  });
  try {
    if (isStreamed(ask.model, deps.shown)) yield* readStream(accumulator, ask, { deps, options });
    else {
      const reply = await deps.host.invokeModel(toModelCall(ask), options);
      accumulator.push(toChunk(reply), deps.clock.elapsed());
    }
    return { ok: true, reply: accumulator.end() };
  } catch (error) {
    options.signal.throwIfAborted();
    const unseen = accumulator.takeSnapshot();
    if (unseen !== null) yield* deps.shown.snapshot(unseen);
    const isShown = deps.shown.isStreaming && accumulator.hasVisibleText;
    return {
      ok: false,
      error,
      shownText: isShown ? accumulator.end().shown : "",
      hasOutput: accumulator.hasOutput,
      usage: accumulator.usage,
    };
  }
}

async function* readStream(
  accumulator: ReplyAccumulator,
  ask: ModelAsk,
  { deps, options }: { readonly deps: AskDeps; readonly options: CallOptions },
): AsyncGenerator<RunnerResult, void> {
  const { host, clock, shown } = deps;
  const stop = new AbortController();
  using linked = linkSignals(options.signal, stop.signal);
  const iterator = host.streamModel(toModelCall(ask), { signal: linked.signal })[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = iterator.next();
      // A reader who leaves at a snapshot leaves this one behind: its failure is nobody's, and must not end the process.
      next.catch(() => undefined);
      const dueMs = accumulator.dueInMs(clock.elapsed());
      const isDue = dueMs === 0 || (dueMs !== null && !(await endsWithin(next, dueMs)));
      if (isDue) yield* showUnseen(accumulator, shown);
      const step = await next;
      if (step.done === true) return;
      accumulator.push(step.value, clock.elapsed());
    }
  } finally {
    stop.abort();
    await iterator.return?.();
  }
}

function* showUnseen(accumulator: ReplyAccumulator, shown: ShownText): Generator<RunnerResult, void> {
  const text = accumulator.takeSnapshot();
  if (text !== null) yield* shown.snapshot(text);
}

/** A model that may only be asked one way is asked that way. */
function isStreamed(model: ModelResource, shown: ShownText): boolean {
  if (!model.operations.includes("invoke")) return true;
  return shown.isStreaming && model.operations.includes("stream");
}

function toModelCall({ model, messages, tools, removeThink }: ModelAsk): ModelCall {
  return { modelId: model.model_id, messages, tools, removeThink };
}

/** A whole reply is one chunk; each of its calls is whole, so each gets an index of its own. */
function toChunk(reply: ChatReply): Parameters<ReplyAccumulator["push"]>[0] {
  return {
    text: reply.text ?? undefined,
    reasoning: reply.reasoning ?? undefined,
    calls: reply.calls.map((call, index) => ({ ...call, index })),
    extra: reply.extra,
    finishReason: reply.finishReason ?? undefined,
    usage: reply.usage ?? undefined,
  };
}
