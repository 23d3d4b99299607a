/**
 * A model behind one protocol: OpenAI-compatible servers, the offline demo model, the scripted model of the tests.
 * Contract (test/contracts/chat-model.ts):
 * - `complete` and `stream` give the same text, calls and usage for the same reply.
 * - `stream` passes pieces on as the server sent them; joining them is the runner's work (local-agent §12.6).
 * - Every failure is a ServiceError with a `model.*` code; `details.status` holds the HTTP status where there was one.
 *   Abort rejects with the signal's reason and closes the connection.
 * - A stream that ends without a finish reason or `[DONE]` throws `model.stream_failed` after its last chunk.
 * - A model that sends nothing for the configured time before or between chunks throws `model.timeout`.
 */
import type { Message } from "../domain/message.js";
import type { ToolDefinition } from "../domain/tool.js";
import type { TurnUsage } from "../domain/usage.js";
import type { CallOptions } from "./options.js";

export interface ChatRequest {
  readonly messages: readonly Message[];
  /** Empty: the field is left out of the request (local-agent §5.3). */
  readonly tools: readonly ToolDefinition[];
  readonly maxOutputTokens?: number | undefined;
}

/** One piece of a tool call, as it came. */
export interface CallPiece {
  readonly index?: number | undefined;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** As received: text, or an object where a server sends one (local-agent §7.1). */
  readonly arguments?: string | Readonly<Record<string, unknown>> | undefined;
  /** Unknown fields of the piece, kept for later requests (local-agent §12.18). */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
}

export interface ChatChunk {
  readonly text?: string | undefined;
  readonly reasoning?: string | undefined;
  readonly calls?: readonly CallPiece[] | undefined;
  /** Unknown fields of the message piece, reasoning fields included: they go back on it (local-agent §12.18). */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
  readonly finishReason?: string | undefined;
  readonly usage?: TurnUsage | undefined;
}

export interface ChatReply {
  readonly text: string | null;
  readonly reasoning: string | null;
  /** Whole calls, one each, in order. */
  readonly calls: readonly CallPiece[];
  /** Unknown fields of the message, reasoning fields included: they go back on it (local-agent §12.18). */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
  readonly finishReason: string | null;
  readonly usage: TurnUsage | null;
}

export interface ChatModel {
  complete(request: ChatRequest, options: CallOptions): Promise<ChatReply>;
  stream(request: ChatRequest, options: CallOptions): AsyncIterable<ChatChunk>;
}
