/** What surfaces may do with runs: admit a message, look, follow, cancel, repeat, acknowledge (api §2). */
import type { FileId, RunId, SessionId } from "../domain/ids.js";
import type { PublicStatus, Run, RunEvent } from "../domain/run.js";
import type { SteeredMessage, SteeringPlace } from "../domain/steering.js";
import type { CallOptions } from "../ports/options.js";
import type { Caller, RunRequest } from "./run-request.js";

export interface DeliveryIds {
  readonly run: RunId;
  readonly file: FileId;
}

/** What the bot's platform did with a file. */
export interface DeliveryReport {
  readonly state: "sent" | "failed";
  readonly detail: string | null;
}

export interface Admission {
  /** A steered message is no run of its own: the run that it names answers for it (runs §8.2). */
  readonly run: Run | SteeredMessage;
  /** The conversation was busy: the run waits behind another one (runs §7.5). */
  readonly queued: boolean;
}

export interface CancelOptions extends CallOptions {
  /** Messages that wait go into the history, and nobody answers them; `keep` if not given. */
  readonly queue?: "keep" | "clear" | undefined;
}

/** A run that was stopped, with the place of each message that was meant for it or waited behind it. */
export interface CancelledRun extends Run {
  readonly messages: readonly { readonly id: RunId; readonly place: SteeringPlace }[];
}

export interface RunQuery {
  readonly session?: SessionId | undefined;
  readonly chat?: string | undefined;
  readonly status?: PublicStatus | undefined;
  readonly limit: number;
  readonly after?: RunId | undefined;
}

export interface RunPage {
  readonly runs: readonly Run[];
  readonly hasMore: boolean;
}

/** Ids of another tenant are `run.not_found` everywhere (api §1.3). */
export interface RunService {
  /** The service was told to stop: it ends what runs and admits nothing more. */
  readonly isStopping: boolean;
  /** Stores the message or event and queues its run. Refusals (unknown pipeline, bad template) come before anything is created. */
  admit(request: RunRequest, caller: Caller, options: CallOptions): Promise<Admission>;
  /** @returns for the id of a steered message what became of it, until it is a run of its own */
  get(caller: Caller, id: RunId): Promise<Run | SteeredMessage>;
  list(caller: Caller, query: RunQuery): Promise<RunPage>;
  /** Resolves when the run is terminal; aborting stops the waiting, not the run. */
  wait(caller: Caller, id: RunId, options: CallOptions): Promise<Run>;
  /**
   * Every event after `after`, then live ones, until the terminal one: no gap, no repeat (runs §9.4).
   * @throws ServiceError `run.not_found`, also for a message that another run absorbs: that run has the stream
   */
  follow(
    caller: Caller,
    from: { readonly id: RunId; readonly after: number },
    options: CallOptions,
  ): Promise<AsyncIterable<RunEvent>>;
  /**
   * Stops the run, not the queue behind it, unless that is to be cleared as well (runs §14.7).
   * @throws ServiceError `run.ended` when it is terminal already
   */
  cancel(caller: Caller, id: RunId, options: CancelOptions): Promise<CancelledRun>;
  /**
   * A text for a run that is going on; where the run cannot take it in, it is queued behind it.
   * @throws ServiceError `run.ended`, `run.queue_full`
   */
  steer(
    caller: Caller,
    told: { readonly id: RunId; readonly text: string },
    options: CallOptions,
  ): Promise<Run | SteeredMessage>;
  /** Every message that was meant for a run, and where it is, in order of arrival. */
  listSteering(caller: Caller, id: RunId): Promise<readonly SteeredMessage[]>;
  /** A failed or timed-out run again, as a new run with the same input and attachments (api §2). */
  retry(caller: Caller, id: RunId, options: CallOptions): Promise<Admission>;
  /** What the bot's platform did with a file; `failed` marks the run failed, nothing is sent again (box §9.6). */
  acknowledge(caller: Caller, ids: DeliveryIds, report: DeliveryReport): Promise<Run>;
  /** The surface lost its client; stops the run only if its request asked for that (runs §9.3). */
  clientGone(id: RunId): void;
}
