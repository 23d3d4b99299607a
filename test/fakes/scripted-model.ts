/**
 * A model that follows a script: steps in order, every request kept. A call that no step expects and a step that no call
 * used fail the test. Passes test/contracts/chat-model.ts.
 */
import { type ErrorCode, ServiceError } from "../../src/domain/errors.js";
import type { TurnUsage } from "../../src/domain/usage.js";
import type { CallPiece, ChatChunk, ChatModel, ChatReply, ChatRequest } from "../../src/ports/chat-model.js";
import type { CallOptions } from "../../src/ports/options.js";
import { type AssembledCall, CallAssembler } from "../../src/runners/local-agent/assemble-calls.js";

/** Yields the chunks of one reply, or throws; the same for both modes. */
export type Step = (request: ChatRequest, options: CallOptions) => AsyncIterable<ChatChunk>;

export interface ScriptedCall {
  readonly id?: string;
  readonly name: string;
  /** An object is sent as its JSON text; text is sent as it is. */
  readonly arguments?: string | Readonly<Record<string, unknown>>;
}

export interface ReplyFacts {
  readonly finishReason?: string | null;
  readonly usage?: TurnUsage;
  readonly reasoning?: string;
}

export class ScriptedModel implements ChatModel, Disposable {
  readonly requests: ChatRequest[] = [];
  readonly modes: ("complete" | "stream")[] = [];
  readonly #steps: Step[];
  #unexpected = 0;

  constructor(steps: readonly Step[]) {
    this.#steps = [...steps];
  }

  async complete(request: ChatRequest, options: CallOptions): Promise<ChatReply> {
    return collect(this.#begin("complete", request, options));
  }

  async *stream(request: ChatRequest, options: CallOptions): AsyncGenerator<ChatChunk, void> {
    yield* this.#begin("stream", request, options);
  }

  /** The request of the given call, the last one if none is given. */
  request(index = this.requests.length - 1): ChatRequest {
    const request = this.requests[index];
    if (request === undefined) throw new Error(`The model was called ${this.requests.length} times only.`);
    return request;
  }

  assertFinished(): void {
    if (this.#unexpected > 0) throw new Error(`${this.#unexpected} model calls came that no step expects.`);
    if (this.#steps.length > 0) throw new Error(`${this.#steps.length} steps of the script were not used.`);
  }

  [Symbol.dispose](): void {
    this.assertFinished();
  }

  #begin(mode: "complete" | "stream", request: ChatRequest, options: CallOptions): AsyncIterable<ChatChunk> {
    options.signal.throwIfAborted();
    this.requests.push(structuredClone(request));
    this.modes.push(mode);
    const step = this.#steps.shift();
    if (step !== undefined) return step(request, options);
    this.#unexpected += 1;
    throw new Error(`The script has no step for model call ${this.requests.length}.`);
  }
}

/** A reply of text, in one piece or in those given. */
export function text(content: string | readonly string[], facts: ReplyFacts = {}): Step {
  const pieces = typeof content === "string" ? [content] : content;
  return chunks([...begin(facts), ...pieces.map((piece) => ({ text: piece })), ...end(facts, "stop")]);
}

/** A reply of tool calls, each whole, after an optional text. */
export function calls(
  wanted: readonly ScriptedCall[],
  facts: ReplyFacts & { readonly text?: string } = {},
): Step {
  const pieces = wanted.map(
    (call, index): CallPiece => ({
      index,
      ...(call.id === undefined ? {} : { id: call.id }),
      name: call.name,
      arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {}),
    }),
  );
  return chunks([
    ...begin(facts),
    ...(facts.text === undefined ? [] : [{ text: facts.text }]),
    ...pieces.map((piece) => ({ calls: [piece] })),
    ...end(facts, "tool_calls"),
  ]);
}

/** Exactly these chunks, then a clean end. */
export function chunks(list: readonly ChatChunk[]): Step {
  return async function* () {
    yield* list;
  };
}

/** A failure, after chunks that came before it. */
export function failure(
  code: ErrorCode,
  facts: {
    readonly after?: readonly ChatChunk[];
    readonly message?: string;
    readonly details?: Readonly<Record<string, unknown>>;
  } = {},
): Step {
  return async function* () {
    yield* facts.after ?? [];
    throw new ServiceError(code, facts.message ?? `Scripted ${code}.`, { details: facts.details ?? {} });
  };
}

/** 429, as a server answers that is asked too often. */
export function rateLimited(): Step {
  return failure("model.rate_limited", { message: "Too many requests.", details: { status: 429 } });
}

/** Text, then a connection that breaks without a finish reason. */
export function cutAfter(...pieces: readonly string[]): Step {
  const message = "The stream ended without a finish reason.";
  return failure("model.stream_failed", { after: pieces.map((piece) => ({ text: piece })), message });
}

/** Any exception of the code in between. */
export function throwing(error: Error): Step {
  return async function* () {
    yield* [];
    throw error;
  };
}

/** Waits for a promise before the step goes on; an abort ends the wait. */
export function after(signalled: Promise<unknown>, step: Step): Step {
  return async function* (request, options) {
    await untilAborted(signalled, options.signal);
    yield* step(request, options);
  };
}

/** Never answers; only an abort ends it. */
export function hanging(): Step {
  return after(new Promise(() => undefined), chunks([]));
}

async function collect(stream: AsyncIterable<ChatChunk>): Promise<ChatReply> {
  const assembler = new CallAssembler();
  const texts: string[] = [];
  const reasoning: string[] = [];
  const extra: Record<string, unknown> = {};
  let [finishReason, usage]: [string | null, TurnUsage | null] = [null, null];
  for await (const chunk of stream) {
    texts.push(chunk.text ?? "");
    reasoning.push(chunk.reasoning ?? "");
    for (const piece of chunk.calls ?? []) assembler.push(piece);
    Object.assign(extra, chunk.extra);
    finishReason = chunk.finishReason ?? finishReason;
    usage = chunk.usage ?? usage;
  }
  return {
    text: texts.join("") || null,
    reasoning: reasoning.join("") || null,
    calls: assembler.calls.map(toWholePiece),
    extra,
    finishReason,
    usage,
  };
}

function toWholePiece({ id, name, argumentsText, extra }: AssembledCall): CallPiece {
  return { ...(id === null ? {} : { id }), name, arguments: argumentsText, extra };
}

function begin({ reasoning }: ReplyFacts): readonly ChatChunk[] {
  return reasoning === undefined ? [] : [{ reasoning, extra: { reasoning_content: reasoning } }];
}

function end({ finishReason, usage }: ReplyFacts, usual: string): readonly ChatChunk[] {
  const reason = finishReason === undefined ? usual : finishReason;
  return [
    { ...(reason === null ? {} : { finishReason: reason }), ...(usage === undefined ? {} : { usage }) },
  ];
}

async function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const listening = new AbortController();
  const aborted = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true, signal: listening.signal });
  });
  try {
    await Promise.race([work, aborted]);
  } finally {
    listening.abort();
  }
  signal.throwIfAborted();
}
