/** Event records in memory: a double for tests that keeps the promises of the port. */
import type { EventEntry } from "../../domain/history.js";
import type { EventPageRequest, EventScope, EventStore, NewEventRecord } from "../../ports/event-store.js";

interface StoredEvent extends EventScope {
  readonly entry: EventEntry;
}

export class MemoryEventStore implements EventStore {
  readonly #rows: StoredEvent[] = [];
  #count = 0;

  async append(record: NewEventRecord): Promise<EventEntry> {
    const standing = this.#rows.find(({ entry }) => entry.run_id === record.run_id);
    if (standing !== undefined) return standing.entry;
    const { tenant, conversation, ...facts } = structuredClone(record);
    this.#count += 1;
    const entry: EventEntry = { ...facts, sequence: this.#count };
    this.#rows.push({ tenant, conversation, entry });
    return entry;
  }

  async get(scope: EventScope, eventId: string): Promise<EventEntry | null> {
    return this.#of(scope).findLast(({ event_id }) => event_id === eventId) ?? null;
  }

  async page(
    scope: EventScope,
    { direction, from, limit }: EventPageRequest,
  ): Promise<readonly EventEntry[]> {
    const entries = this.#of(scope);
    return direction === "backward"
      ? entries
          .filter(({ sequence }) => from === null || sequence < from)
          .toReversed()
          .slice(0, limit)
      : entries.filter(({ sequence }) => from === null || sequence > from).slice(0, limit);
  }

  async removeOlderThan(createdBefore: number, limit: number): Promise<number> {
    const old = this.#rows.filter(({ entry }) => entry.created_at < createdBefore).slice(0, limit);
    for (const row of old) this.#rows.splice(this.#rows.indexOf(row), 1);
    return old.length;
  }

  #of({ tenant, conversation }: EventScope): EventEntry[] {
    return this.#rows
      .filter((row) => row.tenant === tenant && row.conversation === conversation)
      .map(({ entry }) => entry);
  }
}
