/** Replies of models in the spelling of the wire: a reply is a message that goes back into the next call as it is. */
import type { CallPiece, ChatChunk, ChatReply } from "../../ports/chat-model.js";

export function toWireReply(reply: ChatReply): Readonly<Record<string, unknown>> {
  const { text, reasoning, calls, extra, finishReason, usage } = reply;
  const message = {
    ...extra,
    role: "assistant",
    content: text,
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(toWireCall) }),
  };
  return { message, reasoning, finish_reason: finishReason, usage };
}

export function toWireChunk(chunk: ChatChunk): Readonly<Record<string, unknown>> {
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
