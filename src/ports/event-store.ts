/**
 * Event records: what asked for runs (runs §7.1, §17). Contract: test/contracts/event-store.ts.
 * Each run has one; rows are found by the key of the conversation alone, so bot, pipeline and thread are part of it, as in
 * the transcript (runs §17.1).
 */
import type { EventEntry } from "../domain/history.js";

export interface NewEventRecord extends Omit<EventEntry, "sequence"> {
  readonly tenant: string;
  /** Key of the conversation; of an event without one a key that no other event has. */
  readonly conversation: string;
}

export interface EventScope {
  readonly tenant: string;
  readonly conversation: string;
}

export interface EventPageRequest {
  readonly direction: "backward" | "forward";
  /** Null = from the newest (backward) or the oldest (forward) record. */
  readonly from: number | null;
  readonly limit: number;
}

export interface EventStore {
  /** @returns the record that stands for the run: a second one of a run changes nothing */
  append(record: NewEventRecord): Promise<EventEntry>;
  /** The newest record of an event: a repeated run has the event of the run before. */
  get(scope: EventScope, eventId: string): Promise<EventEntry | null>;
  /** Up to `limit` records strictly before (backward, newest first) or after (forward, oldest first) a sequence. */
  page(scope: EventScope, request: EventPageRequest): Promise<readonly EventEntry[]>;
  /** Removes at most `limit` records that were made before (Unix milliseconds). @returns how many */
  removeOlderThan(createdBefore: number, limit: number): Promise<number>;
}
