/** What webhook receivers are still to be told, in memory: a double for tests that keeps the promises of the port. */
import type { RunEvent } from "../../domain/run.js";
import type { RunRecord } from "../../ports/run-store.js";
import type { ReceiversOf, WebhookEntry, WebhookKey, WebhookOutbox } from "../../ports/webhook-outbox.js";

interface Kept extends WebhookEntry {
  readonly dueAt: number;
  readonly isUnderWay: boolean;
}

export class MemoryWebhookOutbox implements WebhookOutbox {
  readonly #deps: { readonly receiversOf: ReceiversOf };
  readonly #entries = new Map<string, Kept>();

  constructor(deps: { readonly receiversOf: ReceiversOf }) {
    this.#deps = deps;
  }

  /** Called by the run store with each event it stores. */
  note({ id: runId, tenant, pipeline }: RunRecord, event: RunEvent): void {
    for (const receiver of this.#deps.receiversOf({ type: event.type, pipeline })) {
      const { sequence } = event;
      const dueAt = Date.parse(event.timestamp);
      this.#keep({ receiver, runId, tenant, sequence, attempts: 0, dueAt, isUnderWay: false });
    }
  }

  async listDue(receiver: string, now: number, limit: number): Promise<readonly WebhookEntry[]> {
    const own = [...this.#entries.values()].filter((entry) => entry.receiver === receiver);
    return own
      .filter(({ isUnderWay, dueAt }) => !isUnderWay && dueAt <= now)
      .filter((entry) => !own.some((one) => one.runId === entry.runId && one.sequence < entry.sequence))
      .toSorted((one, other) => one.dueAt - other.dueAt)
      .slice(0, limit)
      .map(toEntry);
  }

  async begin(key: WebhookKey): Promise<boolean> {
    const entry = this.#entries.get(keyOf(key));
    if (entry === undefined || entry.isUnderWay) return false;
    this.#keep({ ...entry, attempts: entry.attempts + 1, isUnderWay: true });
    return true;
  }

  async postpone(key: WebhookKey, dueAt: number): Promise<void> {
    const entry = this.#entries.get(keyOf(key));
    if (entry !== undefined) this.#keep({ ...entry, dueAt, isUnderWay: false });
  }

  async remove(key: WebhookKey): Promise<void> {
    this.#entries.delete(keyOf(key));
  }

  async listInterrupted(): Promise<readonly WebhookEntry[]> {
    return [...this.#entries.values()].filter(({ isUnderWay }) => isUnderWay).map(toEntry);
  }

  async keepOnly(receivers: readonly string[]): Promise<number> {
    const gone = [...this.#entries.values()].filter(({ receiver }) => !receivers.includes(receiver));
    for (const entry of gone) this.#entries.delete(keyOf(entry));
    return gone.length;
  }

  #keep(entry: Kept): void {
    this.#entries.set(keyOf(entry), entry);
  }
}

function keyOf({ receiver, runId, sequence }: WebhookKey): string {
  return JSON.stringify([receiver, runId, sequence]);
}

function toEntry({ receiver, runId, tenant, sequence, attempts }: Kept): WebhookEntry {
  return { receiver, runId, tenant, sequence, attempts };
}
