/** `history_…` and `event_…`: what is kept of the run's own conversation; each call is judged again (runs §15.4, §17). */
import { ServiceError } from "../../domain/errors.js";
import type { EventEntry, EventPage, HistoryPage } from "../../domain/history.js";
import type { Permissions } from "../../domain/runner-manifest.js";
import type { EventStore } from "../../ports/event-store.js";
import type { EventsRequest, HistoryRequest, HistorySearch, OwnPlace } from "../../ports/run-host.js";
import type { RunRecord } from "../../ports/run-store.js";
import type { TranscriptStore } from "../../ports/transcript-store.js";
import { conversationId } from "../conversation-key.js";
import { pageLimit, readCursor, toPage } from "./host-pages.js";
import { readHistory, searchHistory } from "./read-history.js";
import type { RunGate } from "./run-gate.js";

export interface PastCallsDeps {
  readonly gate: RunGate;
  readonly run: RunRecord;
  readonly permissions: Permissions;
  readonly transcripts: TranscriptStore;
  readonly eventRecords: EventStore;
}

export class PastCalls {
  readonly #deps: PastCallsDeps;

  constructor(deps: PastCallsDeps) {
    this.#deps = deps;
  }

  async historyPage(request: HistoryRequest): Promise<HistoryPage> {
    const { permissions, transcripts, run } = this.#deps;
    this.#check("history_page", permissions.history.includes("page"), request);
    return readHistory(transcripts, run, request);
  }

  async historySearch(request: HistorySearch): Promise<HistoryPage> {
    const { permissions, transcripts, run } = this.#deps;
    this.#check("history_search", permissions.history.includes("search"), request);
    return searchHistory(transcripts, run, request);
  }

  /** Works without a conversation: a run may always look at its own event (runs §10.4). */
  async eventGet(eventId: string): Promise<EventEntry> {
    const { gate, permissions, eventRecords, run } = this.#deps;
    gate.check();
    if (!permissions.events.includes("get")) throw gate.refuse("event_get");
    const entry = await eventRecords.get(run, eventId);
    if (entry !== null) return entry;
    throw new ServiceError("host.not_found", `This conversation has no event "${eventId.slice(0, 100)}".`);
  }

  async eventPage(request: EventsRequest): Promise<EventPage> {
    const { permissions, eventRecords, run } = this.#deps;
    this.#check("event_page", permissions.events.includes("page"), request);
    const limit = pageLimit(request.limit);
    const wanted = { direction: request.direction, from: readCursor(request.cursor), limit: limit + 1 };
    return toPage(await eventRecords.page(run, wanted), limit);
  }

  #check(action: string, isPermitted: boolean, place: OwnPlace): void {
    const { gate, run } = this.#deps;
    gate.check();
    if (!isPermitted || run.chat === null) throw gate.refuse(action);
    const { conversationId: conversation, threadId: thread } = place;
    if (conversation !== undefined && conversation !== conversationId(run))
      throw gate.refuse(`${action} of another conversation`);
    if (thread !== undefined && thread !== run.chat.thread_id)
      throw gate.refuse(`${action} of another thread`);
  }
}
