/**
 * The ledger: runs and their numbered events (runs §20). Contract: test/contracts/run-store.ts.
 * - A terminal state never changes; `finish` on a terminal run changes nothing and says so.
 * - Events of a run are numbered 1..n without gaps; the terminal event and the terminal state are written in one
 *   transaction. An append to a terminal run is refused.
 * - A queued run is claimed by one worker for a time. Each claim raises the run's epoch, and whoever writes under a claim
 *   names its epoch: once another claim stands, such a write changes nothing (design §6). Without an epoch it is a
 *   write of the service's own, about a run that nobody has claimed.
 */
import type { AttachmentOutcome, AttachmentSource } from "../domain/attachment.js";
import type { Chat, RunInput, Trigger } from "../domain/event.js";
import type { RunId, SessionId } from "../domain/ids.js";
import type { FinishReason, RunWarning } from "../domain/result.js";
import type { OpenState, OutboxEntry, RunError, RunEvent, RunState, TerminalState } from "../domain/run.js";
import type { Usage } from "../domain/usage.js";

/** A run as it is stored; the run object of api §2 is made from it and the deliveries. */
export interface RunRecord {
  readonly id: RunId;
  readonly tenant: string;
  readonly pipeline: string;
  /** Canonical runner id. */
  readonly runner: string;
  /** Null for an event that came from no chat; such a run has no conversation. */
  readonly chat: Chat | null;
  /** Key of the conversation whose runs go one after another (runs §7.5); without a chat one of the run's own. */
  readonly conversation: string;
  readonly eventId: string;
  readonly trigger: Trigger;
  readonly surface: string;
  readonly state: RunState;
  readonly session: { readonly id: SessionId; readonly key: string } | null;
  readonly input: RunInput;
  readonly params: Readonly<Record<string, unknown>>;
  readonly attachments: readonly AttachmentOutcome[];
  /** In the order of `attachments`. */
  readonly attachmentSources: readonly AttachmentSource[];
  readonly onDisconnect: "continue" | "cancel";
  /** Of the attempt before, when this run repeats one (runs §9.2). */
  readonly retryOf: RunId | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly message: { readonly content: string; readonly partial: boolean } | null;
  readonly outboxLeft: readonly OutboxEntry[];
  readonly model: string | null;
  readonly toolRounds: number;
  readonly usage: Usage;
  readonly finishReason: FinishReason | null;
  readonly warnings: readonly RunWarning[];
  readonly error: RunError | null;
  /** What others keep with the run; also a terminal run takes more of it (runs §20.1). */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Claims so far; 0 = the run was never claimed. */
  readonly epoch: number;
  /** Who works on the run, and until when (Unix milliseconds) unless renewed; null while nobody does. */
  readonly claim: { readonly worker: string; readonly expiresAt: number } | null;
}

/** A worker at a time; times are Unix milliseconds. */
export interface Claimant {
  readonly worker: string;
  readonly now: number;
  /** When the claim expires unless it is renewed. */
  readonly expiresAt: number;
}

/** What may still change while a run is not terminal. */
export type RunChange = Partial<
  Pick<
    RunRecord,
    "session" | "attachments" | "attachmentSources" | "startedAt" | "model" | "toolRounds" | "warnings"
  > & {
    readonly state: OpenState;
  }
>;

/** What a run came to: the fields that its end decides. */
export interface RunOutcome
  extends Pick<
    RunRecord,
    | "message"
    | "outboxLeft"
    | "attachments"
    | "model"
    | "toolRounds"
    | "usage"
    | "finishReason"
    | "warnings"
    | "error"
  > {
  readonly state: TerminalState;
  readonly endedAt: number;
}

/**
 * What becomes of messages that still wait for a run when it ends (runs §14.6, §14.7): they are queued as runs of their
 * own; their chat is gone; they go into the history and nobody answers them.
 */
export type SteeringEnd = "requeue" | "drop" | "clear";

export interface FinishOptions {
  readonly epoch?: number | undefined;
  /** `requeue` if not given. */
  readonly steered?: SteeringEnd | undefined;
}

export type NewRunEvent = Pick<RunEvent, "type" | "data" | "timestamp">;

export interface RunFilter {
  readonly session?: SessionId | undefined;
  /** `launcher_type:launcher_id`. */
  readonly chat?: string | undefined;
  /** Key of the conversation. */
  readonly conversation?: string | undefined;
  /** Canonical id. */
  readonly runner?: string | undefined;
  readonly states?: readonly RunState[] | undefined;
  readonly limit: number;
  /** Id of the last run of the page before. */
  readonly after?: RunId | undefined;
}

/** Which chat a run came from, and when (Unix milliseconds). */
export interface RunChat {
  /** `launcher_type:launcher_id`. */
  readonly chat: string;
  readonly createdAt: number;
}

export interface RunStore {
  create(run: RunRecord): Promise<void>;
  /** @returns null for an unknown id and for one of another tenant */
  get(tenant: string, id: RunId): Promise<RunRecord | null>;
  /** Newest first. After a run that is not there the page is empty. */
  list(tenant: string, filter: RunFilter): Promise<readonly RunRecord[]>;
  /** Where the newest `limit` runs of a session came from: one entry a run that has a chat, newest first. */
  listChats(tenant: string, session: SessionId, limit: number): Promise<readonly RunChat[]>;
  /**
   * @returns false when the run is terminal or claimed anew: nothing was changed. A terminal state is `finish`'s to write.
   * @throws ServiceError `request.invalid` for a state that there is not
   */
  update(id: RunId, change: RunChange, epoch?: number): Promise<boolean>;
  /** @returns the event with its number; null when the run is terminal already or claimed anew */
  appendEvent(id: RunId, event: NewRunEvent, epoch?: number): Promise<RunEvent | null>;
  /** Number of the newest event; 0 while there is none, and for an unknown run. */
  lastSequence(id: RunId): Promise<number>;
  /** Oldest first. */
  eventsAfter(id: RunId, sequence: number, limit: number): Promise<readonly RunEvent[]>;
  /**
   * Writes outcome and terminal event in one transaction, and settles the messages that wait for the run. `event` gets the record as it will stand, so that its data
   * can be the run object. @returns null when the run was terminal already, or claimed anew
   */
  finish(
    id: RunId,
    outcome: RunOutcome,
    event: (record: RunRecord) => NewRunEvent,
    how?: FinishOptions,
  ): Promise<RunEvent | null>;
  /** Adds to what is kept with a run, terminal or not; a name that is there takes the new value. @returns false for an unknown run */
  mergeMetadata(id: RunId, metadata: Readonly<Record<string, unknown>>): Promise<boolean>;
  /**
   * Takes a queued run, or one whose claim has expired (runs §20.3). Two workers hold no runs of one
   * conversation; the order within a worker is its own.
   * @returns the run under its new epoch; null when it is not to be had
   */
  claim(id: RunId, by: Claimant): Promise<RunRecord | null>;
  /** Prolongs every claim of the worker that has not expired. @returns the runs that are still its own */
  renew(by: Claimant): Promise<readonly RunId[]>;
  /** Gives a claimed run that has not begun back to the queue. @returns false when the claim has expired or is another's */
  release(id: RunId, epoch: number, now: number): Promise<boolean>;
  /**
   * Runs that nobody seems to work for, oldest first: queued since before a time, or with a claim that has expired
   * (Unix milliseconds).
   */
  listAdrift(now: number, queuedBefore: number): Promise<readonly RunRecord[]>;
  /** Runs that are not terminal, oldest first: what a start finds of the process before (runs §20.4). */
  listOpen(): Promise<readonly RunRecord[]>;
  /** A delivery that failed turns `completed` into `failed` (box §9.6); every other terminal state stays. */
  failDelivered(id: RunId, error: RunError): Promise<void>;
  /**
   * Lets go of kept attachment bytes of terminal runs older than the retention (box §9.7): their sources become
   * `refused` with this reason. @returns sha256 of at most `limit` attachments; a blob that nobody else refers to may go
   */
  releaseAttachments(createdBefore: number, reason: string, limit: number): Promise<readonly string[]>;
  /**
   * Removes terminal runs that were created before (Unix milliseconds), with their events and the messages that were
   * meant for them. @returns how many, at most `limit`
   */
  removeEnded(createdBefore: number, limit: number): Promise<number>;
}
