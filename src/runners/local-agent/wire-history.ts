/** Turns the run's messages into those of one request (local-agent §12.15–§12.18, §11.8). Pure. */
import { type Message, type MessagePart, messageText, type ToolCall } from "../../domain/message.js";
import { isObject, parseArguments } from "./parse-arguments.js";
import { withoutThinking } from "./think-filter.js";

/** Field of a stored message that holds the reply as the model sent it; it is never sent (§11.8). */
export const RAW_FIELD = "raw_content";
/** Reasoning goes back on messages with calls only (§12.18). */
const REASONING_FIELDS = new Set(["reasoning", "reasoning_content", "reasoning_details"]);

export interface WireOptions {
  /** Whether the model may see images. */
  readonly vision: boolean;
  /** What stands for an image that may not be sent, by its address. */
  readonly imageNotes: ReadonlyMap<string, string>;
}

export function toWireHistory(messages: readonly Message[], options: WireOptions): readonly Message[] {
  return messages.flatMap((message) => {
    const sent = message.role === "assistant" ? toWireAssistant(message) : message;
    return sent === null ? [] : [{ ...sent, content: toWireContent(sent.content, options) }];
  });
}

/** A message with neither text nor calls is left out; one with only calls has the content null (§12.16). */
function toWireAssistant(message: Message): Message | null {
  const calls = message.tool_calls ?? [];
  const content = toWireText(message.content);
  if (content === null && calls.length === 0) return null;
  const kept = Object.entries(message).filter(
    ([name]) =>
      name !== RAW_FIELD && name !== "tool_calls" && (calls.length > 0 || !REASONING_FIELDS.has(name)),
  );
  return {
    ...Object.fromEntries(kept),
    role: "assistant",
    content,
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(toWireCall) }),
  };
}

/** Text without thinking, null when nothing is left; parts go as they are. */
function toWireText(content: Message["content"]): Message["content"] {
  if (Array.isArray(content)) return messageText({ content }).trim() === "" ? null : content;
  const text = withoutThinking(content ?? "");
  return text.trim() === "" ? null : text;
}

/** Arguments go back as received where they are an object; what never ran goes back as `{}`, so that every call parses. */
function toWireCall(call: ToolCall): ToolCall {
  const { arguments: text, ...rest } = call.function;
  const parsed = parseArguments(text);
  const isSendable = parsed.kind === "objects" && parsed.asReceived;
  return { ...call, function: { ...rest, name: call.function.name, arguments: isSendable ? text : "{}" } };
}

function toWireContent(content: Message["content"], options: WireOptions): Message["content"] {
  if (!Array.isArray(content)) return content;
  return content.map((part) => toWirePart(part, options));
}

function toWirePart(part: MessagePart, { vision, imageNotes }: WireOptions): MessagePart {
  if (part.type !== "image_url" || vision) return part;
  return { type: "text", text: imageNotes.get(part.image_url.url) ?? "[image not shown]" };
}

/** Whether a request carries images at all. */
export function hasImages(messages: readonly Message[]): boolean {
  return messages.some(
    ({ content }) =>
      Array.isArray(content) && content.some((part) => isObject(part) && part["type"] === "image_url"),
  );
}
