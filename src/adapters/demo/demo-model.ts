/**
 * The offline demo model: deterministic, in-process, without a key (api §9). It keeps nothing between requests: what was
 * done already it reads from the request, like any model.
 */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { CallPiece, ChatChunk, ChatModel, ChatReply, ChatRequest } from "../../ports/chat-model.js";
import type { CallOptions } from "../../ports/options.js";
import { demoAnswer } from "./demo-answer.js";
import { type DemoCall, nextStep } from "./demo-steps.js";
import { readTask } from "./read-request.js";

const PIECE_CHARS = 24;

export class DemoModel implements ChatModel {
  async complete(request: ChatRequest, { signal }: CallOptions): Promise<ChatReply> {
    signal.throwIfAborted();
    await setImmediate();
    signal.throwIfAborted();
    return decideReply(request);
  }

  async *stream(request: ChatRequest, { signal }: CallOptions): AsyncGenerator<ChatChunk> {
    signal.throwIfAborted();
    for (const chunk of toChunks(decideReply(request))) {
      await setImmediate();
      signal.throwIfAborted();
      yield chunk;
    }
  }
}

function decideReply(request: ChatRequest): ChatReply {
  const task = readTask(request.messages);
  const tools = new Set(request.tools.map(({ name }) => name));
  const step = nextStep(task, tools);
  const shared = { reasoning: null, usage: null };
  if (step === null) return { ...shared, text: demoAnswer(task, tools), calls: [], finishReason: "stop" };
  const calls = step.calls.map((call, index) => toPiece(call, index, request.messages.length));
  return { ...shared, text: null, calls, finishReason: "tool_calls" };
}

/** The id depends on the place in the conversation, so that no two calls of a conversation share one. */
function toPiece({ name, input }: DemoCall, index: number, place: number): CallPiece {
  const text = JSON.stringify(input);
  const digest = createHash("sha256")
    .update(JSON.stringify([place, index, name, text]))
    .digest("hex");
  return { index, id: `call_${digest.slice(0, 24)}`, name, arguments: text };
}

/** The reply as a server would send it: text in pieces, then each call with its arguments in pieces, then the end. */
function* toChunks(reply: ChatReply): Generator<ChatChunk> {
  for (const text of splitText(reply.text ?? "")) yield { text };
  for (const { index, id, name, arguments: input } of reply.calls) {
    yield { calls: [{ index, id, name, arguments: "" }] };
    for (const piece of splitText(typeof input === "string" ? input : ""))
      yield { calls: [{ index, arguments: piece }] };
  }
  yield { finishReason: reply.finishReason ?? "stop" };
}

function splitText(text: string): readonly string[] {
  const characters = Array.from(text);
  const pieces = Math.ceil(characters.length / PIECE_CHARS);
  return Array.from({ length: pieces }, (_, i) =>
    characters.slice(i * PIECE_CHARS, (i + 1) * PIECE_CHARS).join(""),
  );
}
