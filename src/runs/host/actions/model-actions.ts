/** `invoke_llm` and `invoke_llm_stream`, in the spelling of the wire: a reply is a message that goes back as it is. */
import { z } from "zod";
import { messageSchema } from "../../../domain/message.js";
import type { CallPiece, ChatChunk, ChatReply } from "../../../ports/chat-model.js";
import type { ModelCall } from "../../../ports/run-host.js";
import { type HostActionTable, many, one } from "./define-action.js";

const toolSchema = z.strictObject({
  name: z.string(),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()),
});

const modelCallSchema = z.strictObject({
  model_id: z.string(),
  messages: z.array(messageSchema),
  tools: z.array(toolSchema).default([]),
  max_output_tokens: z.int().positive().optional(),
  remove_think: z.boolean().optional(),
});

export const MODEL_ACTIONS: HostActionTable = {
  invoke_llm: one(modelCallSchema, async (host, call, options) =>
    toWireReply(await host.invokeModel(toModelCall(call), options)),
  ),
  invoke_llm_stream: many(modelCallSchema, async function* (host, call, options) {
    for await (const chunk of host.streamModel(toModelCall(call), options)) yield toWireChunk(chunk);
  }),
};

function toModelCall(call: z.infer<typeof modelCallSchema>): ModelCall {
  const { model_id, messages, tools, max_output_tokens, remove_think } = call;
  return {
    modelId: model_id,
    messages,
    tools,
    maxOutputTokens: max_output_tokens,
    removeThink: remove_think,
  };
}

function toWireReply(reply: ChatReply): Readonly<Record<string, unknown>> {
  const { text, reasoning, calls, extra, finishReason, usage } = reply;
  const message = {
    ...extra,
    role: "assistant",
    content: text,
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(toWireCall) }),
  };
  return { message, reasoning, finish_reason: finishReason, usage };
}

function toWireChunk(chunk: ChatChunk): Readonly<Record<string, unknown>> {
  const { finishReason, ...rest } = chunk;
  return finishReason === undefined ? rest : { ...rest, finish_reason: finishReason };
}

function toWireCall(piece: CallPiece, index: number): Readonly<Record<string, unknown>> {
  const { id, name = "", extra } = piece;
  const given = piece.arguments ?? "{}";
  return {
    ...extra,
    id: id ?? `call_${index}`,
    type: "function",
    function: { name, arguments: typeof given === "string" ? given : JSON.stringify(given) },
  };
}
