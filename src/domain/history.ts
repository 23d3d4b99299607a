/** The transcript and the event records as a runner reads them (runs §17). */
import type { Actor, EventType, Subject } from "./event.js";
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

/** What came in and asked for a run (runs §17.3, §17.4): references and a summary, never inline bytes. */
export interface EventEntry {
  /** Rises from event to event; within a conversation it gives their order. */
  readonly sequence: number;
  readonly run_id: string;
  readonly event_id: string;
  readonly event_type: EventType;
  /** Unix seconds. */
  readonly event_time: number;
  readonly source: string;
  readonly source_event_type: string | null;
  readonly actor: Actor;
  readonly subject: Subject;
  readonly data: Readonly<Record<string, unknown>>;
  /** At most 1000 characters. */
  readonly summary: string;
  readonly bot_id: string | null;
  /** Null = the event belongs to no conversation. */
  readonly conversation_id: string | null;
  readonly thread_id: string | null;
  /** Unix milliseconds. */
  readonly created_at: number;
}

export interface EventPage {
  readonly items: readonly EventEntry[];
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
