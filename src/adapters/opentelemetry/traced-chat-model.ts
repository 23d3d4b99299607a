/**
 * Spans `chat` around the calls of a model. Without a registered tracer provider they cost nothing. They hold names,
 * counts and error codes, never what was said.
 */
import { type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { toServiceError } from "../../domain/errors.js";
import type { TurnUsage } from "../../domain/usage.js";
import type { ChatChunk, ChatModel, ChatReply, ChatRequest } from "../../ports/chat-model.js";
import type { CallOptions } from "../../ports/options.js";

export class TracedChatModel implements ChatModel {
  readonly #deps: { readonly model: ChatModel; readonly modelId: string };

  /** @param deps.modelId as the configuration names it */
  constructor(deps: { readonly model: ChatModel; readonly modelId: string }) {
    this.#deps = deps;
  }

  async complete(request: ChatRequest, options: CallOptions): Promise<ChatReply> {
    const span = this.#begin();
    try {
      const reply = await this.#deps.model.complete(request, options);
      describeEnd(span, reply);
      return reply;
    } catch (error) {
      describeFailure(span, error);
      throw error;
    } finally {
      span.end();
    }
  }

  async *stream(request: ChatRequest, options: CallOptions): AsyncGenerator<ChatChunk, void> {
    const span = this.#begin();
    try {
      for await (const chunk of this.#deps.model.stream(request, options)) {
        describeEnd(span, chunk);
        yield chunk;
      }
    } catch (error) {
      describeFailure(span, error);
      throw error;
    } finally {
      span.end();
    }
  }

  #begin(): Span {
    const { modelId } = this.#deps;
    return trace.getTracer("berth").startSpan(`chat ${modelId}`, {
      kind: SpanKind.CLIENT,
      attributes: { "gen_ai.operation.name": "chat", "gen_ai.request.model": modelId },
    });
  }
}

function describeEnd(
  span: Span,
  {
    usage,
    finishReason,
  }: { readonly usage?: TurnUsage | null | undefined; readonly finishReason?: string | null | undefined },
): void {
  if (usage)
    span.setAttributes({
      "gen_ai.usage.input_tokens": usage.prompt_tokens,
      "gen_ai.usage.output_tokens": usage.completion_tokens,
    });
  if (finishReason) span.setAttribute("gen_ai.response.finish_reasons", [finishReason]);
}

function describeFailure(span: Span, error: unknown): void {
  const { code } = toServiceError(error);
  span.setAttribute("error.type", code).setStatus({ code: SpanStatusCode.ERROR, message: code });
}
