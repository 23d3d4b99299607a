/** The transcript as a runner reads it (runs §17). */
import type { Message } from "./message.js";

export interface TranscriptItem {
  /** Position in the conversation, rising. */
  readonly sequence: number;
  readonly run_id: string;
  readonly event_id: string | null;
  readonly message: Message;
  /** Text of a run that failed after it had begun to answer (runs §18.9). */
  readonly partial: boolean;
  /** Unix milliseconds. */
  readonly created_at: number;
}

export interface HistoryPage {
  readonly items: readonly TranscriptItem[];
  readonly next_cursor: string | null;
  readonly prev_cursor: string | null;
  readonly has_more: boolean;
}

/** Calls of assistant messages that no tool message answers, in order; an id that comes twice needs two answers. */
export function findUnansweredCalls(
  messages: readonly Message[],
): readonly { readonly id: string; readonly name: string }[] {
  const open: { id: string; name: string }[] = [];
  for (const message of messages) {
    for (const call of message.tool_calls ?? []) open.push({ id: call.id, name: call.function.name });
    const answered = message.role === "tool" ? open.findIndex(({ id }) => id === message.tool_call_id) : -1;
    if (answered >= 0) open.splice(answered, 1);
  }
  return open;
}
