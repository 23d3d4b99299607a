/** Message history in memory: a double for tests that keeps the promises of the port. */
import { ServiceError } from "../../domain/errors.js";
import { findUnansweredCalls, type TranscriptItem } from "../../domain/history.js";
import type {
  NewTranscriptItem,
  TranscriptPageRequest,
  TranscriptPlace,
  TranscriptStore,
} from "../../ports/transcript-store.js";

interface StoredItem {
  readonly tenant: string;
  readonly conversation: string;
  readonly item: TranscriptItem;
}

export interface MemoryTranscriptDeps {
  /** Epoch of a run, or null for one that is not known. */
  readonly epochOf: (runId: string) => number | null;
}

export class MemoryTranscriptStore implements TranscriptStore {
  readonly #deps: MemoryTranscriptDeps;
  #rows: readonly StoredItem[] = [];

  constructor(deps: MemoryTranscriptDeps = { epochOf: () => null }) {
    this.#deps = deps;
  }

  async append(added: NewTranscriptItem): Promise<TranscriptItem> {
    const { tenant, conversation, epoch } = added;
    if (epoch !== undefined && (this.#deps.epochOf(added.runId) ?? epoch) !== epoch)
      throw new ServiceError("run.interrupted", "Another worker has taken this run over.");
    const item: TranscriptItem = {
      sequence: this.#of(tenant, conversation).length + 1,
      run_id: added.runId,
      event_id: added.eventId,
      message: structuredClone(added.message),
      partial: added.partial,
      created_at: added.createdAt,
    };
    this.#rows = [...this.#rows, { tenant, conversation, item }];
    return item;
  }

  async page(
    tenant: string,
    conversation: string,
    request: TranscriptPageRequest,
  ): Promise<readonly TranscriptItem[]> {
    const { from, limit } = request;
    const items = this.#of(tenant, conversation);
    return request.direction === "backward"
      ? items
          .filter(({ sequence }) => from === null || sequence < from)
          .toReversed()
          .slice(0, limit)
      : items.filter(({ sequence }) => from === null || sequence > from).slice(0, limit);
  }

  async removeSilent(silentSince: number): Promise<TranscriptPlace | null> {
    const isSilent = (place: StoredItem): boolean =>
      this.#of(place.tenant, place.conversation).every((item) => item.created_at < silentSince);
    this.#rows = this.#rows.filter((row) => !isSilent(row));
    return null;
  }

  async unansweredCalls(runId: string): Promise<readonly { readonly id: string; readonly name: string }[]> {
    const items = this.#rows.map(({ item }) => item).filter((item) => item.run_id === runId);
    return findUnansweredCalls(items.map(({ message }) => message));
  }

  #of(tenant: string, conversation: string): TranscriptItem[] {
    return this.#rows
      .filter((row) => row.tenant === tenant && row.conversation === conversation)
      .map(({ item }) => item);
  }
}
