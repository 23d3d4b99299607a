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
