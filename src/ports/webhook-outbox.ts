/**
 * What webhook receivers are still to be told (runs §9.6). The run store writes an entry in the transaction of the event
 * it tells of, so no end of the process loses one. Contract: test/contracts/webhook-outbox.ts.
 * - Entries of one run reach one receiver in the order of its events: a later one is not due while an earlier one is open.
 * - An attempt is marked before it is made; one that is still marked at a start has an outcome that nobody knows.
 */
import type { RunId } from "../domain/ids.js";
import type { RunEventType } from "../domain/run.js";

/** Which receivers want to be told of an event of a pipeline's run; their ids. */
export type ReceiversOf = (event: {
  readonly type: RunEventType;
  readonly pipeline: string;
}) => readonly string[];

export interface WebhookEntry {
  readonly receiver: string;
  readonly runId: RunId;
  readonly tenant: string;
  /** Number of the event in its run. */
  readonly sequence: number;
  /** Attempts that have begun. */
  readonly attempts: number;
}

export type WebhookKey = Pick<WebhookEntry, "receiver" | "runId" | "sequence">;

export interface WebhookOutbox {
  /** Entries of a receiver whose time has come (Unix milliseconds), oldest first, one of each run; none that is under way. */
  listDue(receiver: string, now: number, limit: number): Promise<readonly WebhookEntry[]>;
  /** Marks an attempt. @returns false when the entry is gone or under way */
  begin(key: WebhookKey): Promise<boolean>;
  /** The attempt is over: the next one is due then (Unix milliseconds). */
  postpone(key: WebhookKey, dueAt: number): Promise<void>;
  /** The entry is settled, one way or the other. */
  remove(key: WebhookKey): Promise<void>;
  /** Entries whose attempt was under way when the process before ended. Ask only before the first attempt. */
  listInterrupted(): Promise<readonly WebhookEntry[]>;
  /** Lets go of entries for receivers that are not among these. @returns how many */
  keepOnly(receivers: readonly string[]): Promise<number>;
}
