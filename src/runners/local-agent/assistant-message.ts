/** An assistant message as it is stored: what was shown, what came besides, and the raw reply (local-agent §11.8, §12.18). Pure. */
import type { Message, ToolCall } from "../../domain/message.js";
import type { Reply } from "./accumulate-stream.js";
import { RAW_FIELD } from "./wire-history.js";

export function toAssistantMessage(
  reply: Pick<Reply, "raw" | "shown" | "extra">,
  calls: readonly ToolCall[],
): Message {
  const hasText = reply.shown.trim() !== "";
  return {
    ...reply.extra,
    role: "assistant",
    content: hasText ? reply.shown : null,
    ...(calls.length === 0 ? {} : { tool_calls: [...calls] }),
    ...(reply.raw.trim() === (hasText ? reply.shown.trim() : "") ? {} : { [RAW_FIELD]: reply.raw }),
  };
}

/** What the history keeps of the final reply, or null where that is just what the user reads. */
export function toHistoryMessage(reply: Reply, text: string): Message | null {
  const stored = toAssistantMessage({ ...reply, shown: text }, []);
  const isPlain = Object.keys(stored).every((name) => name === "role" || name === "content");
  return isPlain ? null : stored;
}
