/** Builds the body of one chat-completions request (local-agent §12.13–§12.18). Pure but for the hash. */
import { createHash } from "node:crypto";
import type { Message, ToolCall } from "../../domain/message.js";
import type { ToolDefinition } from "../../domain/tool.js";
import type { ChatRequest } from "../../ports/chat-model.js";
import type { OpenAiModelSettings } from "./settings.js";

const MAX_ID_CHARS = 40;
const OUTPUT_LIMIT_FIELDS = ["max_tokens", "max_completion_tokens"] as const;

export function buildBody(
  request: ChatRequest,
  settings: OpenAiModelSettings,
  { isStream }: { readonly isStream: boolean },
): Readonly<Record<string, unknown>> {
  const { stream_options: ownStreamOptions, ...extraArgs } = settings.extraArgs;
  const streamOptions = ownStreamOptions === undefined ? { include_usage: true } : ownStreamOptions;
  return {
    ...extraArgs,
    model: settings.model,
    messages: request.messages.map((message) => toWireMessage(message, settings)),
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(toWireTool) }),
    ...outputLimit(request, settings),
    stream: isStream,
    // Null in the operator's arguments keeps the field from a server that refuses it.
    ...(isStream && streamOptions !== null ? { stream_options: streamOptions } : {}),
  };
}

function toWireMessage(message: Message, settings: OpenAiModelSettings): Readonly<Record<string, unknown>> {
  const { tool_calls: calls, tool_call_id: answered, ...rest } = message;
  return {
    ...rest,
    content: toWireContent(message, settings),
    ...(calls === undefined || calls.length === 0 ? {} : { tool_calls: calls.map(toWireCall) }),
    ...(answered === undefined ? {} : { tool_call_id: toWireId(answered) }),
  };
}

function toWireCall(call: ToolCall): ToolCall {
  return { ...call, id: toWireId(call.id) };
}

/** Servers of text-only models often read no lists: a user's list of nothing but text is sent as one text. */
function toWireContent({ role, content }: Message, { abilities }: OpenAiModelSettings): Message["content"] {
  if (role !== "user" || !Array.isArray(content) || abilities.includes("vision")) return content;
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length === content.length ? texts.join("\n\n") : content;
}

/** An id that is too long for a server is replaced by one derived from it, the same in every request (§12.13). */
export function toWireId(id: string): string {
  if (id.length <= MAX_ID_CHARS) return id;
  return `call_${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;
}

function toWireTool({ name, description, parameters }: ToolDefinition): Readonly<Record<string, unknown>> {
  return { type: "function", function: { name, description, parameters } };
}

/** Left out where the operator's own arguments say it, and where no limit is known. */
function outputLimit(
  request: ChatRequest,
  { maxOutputTokens, extraArgs, baseUrl }: OpenAiModelSettings,
): Readonly<Record<string, number>> {
  if (OUTPUT_LIMIT_FIELDS.some((field) => field in extraArgs)) return {};
  const known = [request.maxOutputTokens, maxOutputTokens].filter((limit) => typeof limit === "number");
  if (known.length === 0) return {};
  return { [limitField(baseUrl)]: Math.max(1, Math.min(...known)) };
}

/** OpenAI's newer models refuse the older field; other servers may know only that one. */
function limitField(baseUrl: string): (typeof OUTPUT_LIMIT_FIELDS)[number] {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "";
  return /(^|\.)(openai\.com|openai\.azure\.com)$/.test(host) ? "max_completion_tokens" : "max_tokens";
}
