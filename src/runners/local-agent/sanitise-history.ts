/** Makes stored history fit to be sent: every call answered, every answer with its call (local-agent §15.1, §12.15). Pure. */
import { type Message, messageText, type ToolCall } from "../../domain/message.js";

/** A single message, or an assistant message with all its calls and all their results (§15.3). */
export type HistoryUnit = readonly Message[];

const ROLES = new Set(["system", "user", "assistant", "tool"]);

/** @param messages In chronological order. @returns units in order, without what could not be sent */
export function sanitiseHistory(messages: readonly Message[]): readonly HistoryUnit[] {
  const units: HistoryUnit[] = [];
  for (const [position, message] of messages.entries()) {
    if (!ROLES.has(message.role) || message.role === "tool") continue;
    const calls = message.tool_calls ?? [];
    const unit = calls.length === 0 ? [message] : pairCalls(message, calls, answersAfter(messages, position));
    const [first] = unit;
    if (first !== undefined && !isEmpty(first)) units.push(unit);
  }
  return units;
}

/** The block of tool messages right behind an assistant message. */
function answersAfter(messages: readonly Message[], position: number): readonly Message[] {
  const block: Message[] = [];
  for (const message of messages.slice(position + 1)) {
    if (message.role !== "tool") break;
    block.push(message);
  }
  return block;
}

/** Calls without a result are left out; results follow in the order of the calls, each used once. */
function pairCalls(message: Message, calls: readonly ToolCall[], block: readonly Message[]): HistoryUnit {
  const unused = [...block];
  const pairs = calls.flatMap((call) => {
    const at = unused.findIndex((answer) => answer.tool_call_id === call.id);
    return at < 0 ? [] : unused.splice(at, 1).map((answer) => ({ call, answer }));
  });
  const { tool_calls: _, ...rest } = message;
  if (pairs.length === 0) return [rest];
  return [{ ...rest, tool_calls: pairs.map(({ call }) => call) }, ...pairs.map(({ answer }) => answer)];
}

function isEmpty(message: Message): boolean {
  if ((message.tool_calls ?? []).length > 0) return false;
  const hasImage =
    Array.isArray(message.content) && message.content.some((part) => part.type === "image_url");
  return !hasImage && messageText(message).trim() === "";
}
