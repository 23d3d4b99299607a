/**
 * All a runner may ask for during its run, already narrowed to the run's resources and checked again at every call
 * (runs §15). A refusal is a ServiceError `host.unauthorized` whose message contains "not authorized"; no time left is
 * `host.deadline_exceeded` (runs §19.3). Methods for later permissions are absent until they exist.
 */
import type { AttachmentOutcome, AttachmentType } from "../domain/attachment.js";
import type { BoxState, BoxStatus } from "../domain/box.js";
import type { DeliveryKind } from "../domain/delivery.js";
import type { EventEntry, EventPage, HistoryPage } from "../domain/history.js";
import type { FileId, RunId, SessionId } from "../domain/ids.js";
import type { Message } from "../domain/message.js";
import type { PublicStatus, Run, RunEvent } from "../domain/run.js";
import type { StateKeys } from "../domain/state.js";
import type { JsonSchema, ToolOutcome } from "../domain/tool.js";
import type { ChatChunk, ChatReply, ChatRequest } from "./chat-model.js";
import type { KnowledgeChunk } from "./knowledge-base.js";
import type { CallOptions } from "./options.js";
import type { RankedDocument } from "./reranker.js";

export interface ModelCall extends ChatRequest {
  readonly modelId: string;
  readonly removeThink?: boolean | undefined;
}

/** Names the run's own place once more; another one is refused (runs §17.1). Absent = the own one. */
export interface OwnPlace {
  readonly conversationId?: string | undefined;
  /** Null = outside of threads, and equal to nothing else. */
  readonly threadId?: string | null | undefined;
}

/** Limit: 50 unless said otherwise, 100 at most (runs §17.2). */
export interface EventsRequest extends OwnPlace {
  readonly direction: "backward" | "forward";
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

export interface HistoryRequest extends EventsRequest {
  /** Characters of an item's text: 4000 unless said otherwise, 65,536 at most. */
  readonly contentChars?: number | undefined;
}

/** Newest first. */
export interface HistorySearch extends Omit<HistoryRequest, "direction"> {
  /** Matched literally, in any case (runs §17.5). */
  readonly text: string;
}

export interface RunListRequest {
  readonly status?: PublicStatus | undefined;
  /** Id of the last run of the page before. */
  readonly cursor?: RunId | undefined;
  readonly limit?: number | undefined;
}

export interface RunEventsRequest {
  readonly runId: RunId;
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

export interface RunPageOf<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: string | null;
  readonly prev_cursor: string | null;
  readonly has_more: boolean;
}

/**
 * Runs of the own runner in the own conversation; of the whole tenant for a pipeline with administrator rights (runs
 * §15.5). Answered under what was authorised for the run, also after its end. A run of another conversation is
 * `host.unauthorized`, one that the tenant does not have `host.not_found`.
 */
export interface HostRuns {
  /** `run_get` */
  get(id: RunId, options: CallOptions): Promise<Run>;
  /** `run_list`, newest first. */
  list(request: RunListRequest, options: CallOptions): Promise<RunPageOf<Run>>;
  /** `run_events_page`, oldest first. */
  eventsPage(request: RunEventsRequest, options: CallOptions): Promise<RunPageOf<RunEvent>>;
  /** `run_cancel`. @throws ServiceError `run.ended` when it is terminal already */
  cancel(id: RunId, options: CallOptions): Promise<Run>;
  /**
   * `append_result`, for administrators: tells something in the events of a run that is going on.
   * @param result `{type, data}` of a type without effects
   * @throws ServiceError `host.invalid_argument` for every other type and for data that do not fit, `run.ended`
   */
  appendResult(id: RunId, result: unknown, options: CallOptions): Promise<RunEvent>;
}

export interface SteeringRequest {
  readonly mode: "all" | "one-at-a-time";
  /** The reply of the model that the messages follow: if any is pulled, it is in the history before them. */
  readonly after?: Message | undefined;
}

export interface PulledMessage {
  readonly id: RunId;
  readonly text: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

export interface AcquiredBox {
  readonly id: SessionId;
  readonly status: BoxState;
}

export interface BindBoxOptions extends CallOptions {
  /** Id of an acquired box; absent = the run's own. */
  readonly box?: SessionId | undefined;
}

export interface BoundBox {
  readonly sessionId: SessionId;
  readonly inbox: string;
  readonly outbox: string;
  /** What was lost since the session's last run: one sentence each for the box note (box §11.5); empty = nothing. */
  readonly notes: readonly string[];
}

/** An attachment after import: what the user message tells of it (local-agent §4.4). */
export interface ImportedAttachment extends AttachmentOutcome {
  readonly reference: string;
  readonly type: AttachmentType;
}

export interface ImageBytes {
  readonly mimeType: string;
  readonly base64: string;
  readonly sizeBytes: number;
}

export interface StateRef {
  /** Of state: `conversation`, `actor`, `subject`, `runner`. Of storage: `plugin`, `workspace`. */
  readonly scope: string;
  readonly key: string;
}

/**
 * Values that outlive the run (runs §16). Every method throws ServiceError `host.unauthorized` for a scope that is not
 * enabled, `host.not_found` for one whose identity this run does not have, and `host.invalid_argument` for a scope that
 * does not exist and for a key that cannot be one.
 */
export interface KeyValueAccess {
  /** @returns null when there is no such key */
  get(ref: StateRef, options: CallOptions): Promise<unknown>;
  /** @throws ServiceError `host.payload_too_large` above 256 KiB of JSON, `host.invalid_argument` for what is no JSON */
  set(entry: StateRef & { readonly value: unknown }, options: CallOptions): Promise<void>;
  /** At most 100 keys, sorted. */
  list(
    page: { readonly scope: string; readonly prefix?: string | undefined },
    options: CallOptions,
  ): Promise<StateKeys>;
  /** @returns false when there was none */
  delete(ref: StateRef, options: CallOptions): Promise<boolean>;
}

export interface RetrieveRequest {
  readonly kbId: string;
  readonly text: string;
  /** 1 to 100; 5 if not said. */
  readonly topK?: number | undefined;
  readonly filters?: Readonly<Record<string, unknown>> | undefined;
}

export interface RerankCall {
  readonly modelId: string;
  readonly query: string;
  /** At most 64. */
  readonly documents: readonly string[];
  /** All if not said. */
  readonly topN?: number | undefined;
}

export interface CaptureRequest {
  readonly url: string;
  /** By the name, if not said. */
  readonly kind?: DeliveryKind | undefined;
  /** As the server says, if not said. */
  readonly name?: string | undefined;
}

export interface RunHost {
  /** `invoke_llm`: needs the operation `invoke` on that model. */
  invokeModel(call: ModelCall, options: CallOptions): Promise<ChatReply>;
  /** `invoke_llm_stream`: needs the operation `stream` on that model. */
  streamModel(call: ModelCall, options: CallOptions): AsyncIterable<ChatChunk>;
  /**
   * `get_tool_detail`.
   * @throws ServiceError `host.not_found` for a name that no tool of the service has, `host.unauthorized` for a tool
   * outside the run's resources (local-agent §7.1 tells the model which of the two it is)
   */
  getToolDetail(name: string, options: CallOptions): Promise<{ description: string; parameters: JsonSchema }>;
  /**
   * `call_tool`. A failure of the tool is data. Throws only for refusals and for `host.deadline_exceeded`.
   * Live output goes into the run's events by itself.
   */
  callTool(
    call: {
      readonly id: string;
      readonly name: string;
      readonly parameters: Readonly<Record<string, unknown>>;
    },
    options: CallOptions,
  ): Promise<ToolOutcome>;
  /** `get_prompt`: the effective prompt; empty when the host has none of its own. */
  getPrompt(options: CallOptions): Promise<readonly Message[]>;
  /**
   * `steering_pull`: messages that arrived since, in order of arrival, at most 100; needs the capability `steering`.
   * What was pulled is in the history and is the run's to answer (runs §14).
   */
  pullSteering(request: SteeringRequest, options: CallOptions): Promise<readonly PulledMessage[]>;
  /** `history_page` of the run's own conversation; without a cursor the newest page (runs §17). */
  historyPage(request: HistoryRequest, options: CallOptions): Promise<HistoryPage>;
  /**
   * `retrieve_knowledge` of one knowledge base, closest first.
   * @throws ServiceError `host.unauthorized` for one outside the run's resources, before anything of it is asked
   */
  retrieveKnowledge(request: RetrieveRequest, options: CallOptions): Promise<readonly KnowledgeChunk[]>;
  /** `rerank`: needs the operation `rerank` on that model. By falling relevance. */
  rerank(call: RerankCall, options: CallOptions): Promise<readonly RankedDocument[]>;
  /**
   * `capture_file`: fetches what a service produced and registers a delivery of the run.
   * @throws ServiceError `host.unauthorized` without the permission, `outbound.refused`, `outbound.failed`,
   *   `box.too_large`
   */
  captureFile(request: CaptureRequest, options: CallOptions): Promise<FileId>;
  /** `history_search` of the run's own conversation. */
  historySearch(request: HistorySearch, options: CallOptions): Promise<HistoryPage>;
  /** `event_get`: an event of the own conversation, without one the run's own. @throws ServiceError `host.not_found` */
  eventGet(eventId: string, options: CallOptions): Promise<EventEntry>;
  /** `event_page` of the run's own conversation; without a cursor the newest page, or forward the oldest. */
  eventPage(request: EventsRequest, options: CallOptions): Promise<EventPage>;
  readonly runs: HostRuns;
  /** `state_get`, `state_set`, `state_list`, `state_delete`. */
  readonly state: KeyValueAccess;
  /** `storage_get` and so on: values of the runner's package, or of the tenant. */
  readonly storage: KeyValueAccess;
  /** Bytes of an image attachment of this run, or null where they are not kept or above `maxBytes`. */
  readImage(reference: string, maxBytes: number, options: CallOptions): Promise<ImageBytes | null>;
  boxStatus(options: CallOptions): Promise<BoxStatus>;
  /**
   * Finds the box of a key, or plans one; nothing is made yet (box §4.1).
   * @param request `{reuse_key, template?, options?: {image?}}`
   * @throws ServiceError `box.validation` for anything else in it, `box.forbidden` for an image that is not allowed and
   * for a run that gets no box
   */
  acquireBox(request: unknown, options: CallOptions): Promise<AcquiredBox>;
  /**
   * Binds the run to a box for its life: to one that was acquired, or to the one under the key frozen at admission. The
   * same again gives the same (box §4.3).
   * @throws ServiceError `box.bind_conflict` for another box than the bound one, `session.not_found`
   */
  bindBox(options: BindBoxOptions): Promise<BoundBox>;
  /** Imports every attachment of the run once, after the bind (box §7.1). Each succeeds or fails by itself. */
  importAttachments(options: CallOptions): Promise<readonly ImportedAttachment[]>;
  /** Keeps a text too long for the model in the box (local-agent §9.3). @returns its path, or null without a bound box */
  saveToolResult(callId: string, text: string, options: CallOptions): Promise<string | null>;
}
