/**
 * Messages that runs absorb (runs §14). Contract: test/contracts/steering-store.ts.
 * - A message waits as a run in the state `created` that nobody executes, so that nothing of it is lost with a process.
 * - `RunStore.finish` settles those that still wait, in the transaction that ends the run: as a rule they become queued
 *   runs at their place in the order of arrival.
 * - Every step leaves an audit record.
 */
import type { RunId } from "../domain/ids.js";
import type { AuditType, SteeringPlace } from "../domain/steering.js";
import type { RunRecord } from "./run-store.js";
import type { NewTranscriptItem } from "./transcript-store.js";

export interface SteeringItem {
  /** Of the run that the message becomes if it is not absorbed. */
  readonly id: RunId;
  readonly tenant: string;
  /** The run that is to absorb it. */
  readonly runId: RunId;
  readonly place: SteeringPlace;
  /** As the transcript holds it. */
  readonly text: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly changedAt: number;
}

export interface OfferedMessage {
  /** The run of its own that the message would become. */
  readonly message: RunRecord;
  readonly text: string;
  /** The run that is to absorb it. */
  readonly runId: RunId;
  /** Messages that may wait for one run. */
  readonly limit: number;
}

export interface PullRequest {
  readonly epoch: number;
  readonly limit: number;
  /** Unix milliseconds. */
  readonly now: number;
  /** Written before the pulled messages, if there are any. */
  readonly before: NewTranscriptItem | null;
}

export interface PulledMessages {
  /** In order of arrival. */
  readonly messages: readonly SteeringItem[];
  /** Number of the run's newest event; 0 when nothing was pulled. */
  readonly sequence: number;
}

export interface AuditRecord {
  readonly type: AuditType;
  readonly runId: RunId;
  /** Id of the message. */
  readonly subject: RunId;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

export interface SteeringStore {
  /** Stores the message for a run that is going on. @returns what hinders it, and then nothing is stored */
  offer(offered: OfferedMessage): Promise<"waiting" | "full" | "ended">;
  /** @returns null for an unknown id and for one of another tenant */
  get(tenant: string, id: RunId): Promise<SteeringItem | null>;
  /** Every message that was meant for a run, in order of arrival. */
  listByRun(tenant: string, runId: RunId): Promise<readonly SteeringItem[]>;
  /**
   * Takes waiting messages, oldest first, and writes for each a user entry of the transcript and the event
   * `steering.injected`, all in one transaction.
   * @returns null when the run has ended or was claimed anew
   */
  pull(runId: RunId, request: PullRequest): Promise<PulledMessages | null>;
  /** Says of messages in the queue that nobody answers them. */
  markNotAnswered(ids: readonly RunId[], now: number): Promise<void>;
  /** Oldest first. */
  listAudit(tenant: string, runId: RunId): Promise<readonly AuditRecord[]>;
}
