/** What every outbox of webhooks promises, together with the run store that writes it (ports/webhook-outbox.ts). */
import { describe, expect, it } from "vitest";
import type { RunStore } from "../../src/ports/run-store.js";
import type { ReceiversOf, WebhookOutbox } from "../../src/ports/webhook-outbox.js";
import type { Opened } from "../support/opened.js";
import { anOutcome, aRun } from "../support/records.js";

export interface WebhookStores {
  readonly runs: RunStore;
  readonly webhooks: WebhookOutbox;
}

type Make = (receiversOf: ReceiversOf) => Promise<Opened<WebhookStores>>;

const TIME = "2026-01-01T00:00:02.000Z";
const NOW = Date.parse(TIME);
const LATER = NOW + 3_600_000;
const first = { receiver: "one", runId: "run_1", sequence: 1 } as const;

/** Receiver `one` is told of files and ends, `two` of nothing; of another pipeline nobody hears. */
const receiversOf: ReceiversOf = ({ type, pipeline }) =>
  pipeline === "default" && (type === "delivery.created" || type === "run.completed") ? ["one"] : [];

async function addFile({ runs }: WebhookStores, id: "run_1" | "run_2" = "run_1"): Promise<void> {
  await runs.appendEvent(id, { type: "delivery.created", data: {}, timestamp: TIME });
}

async function end({ runs }: WebhookStores): Promise<void> {
  await runs.finish("run_1", anOutcome(), () => ({ type: "run.completed", data: {}, timestamp: TIME }));
}

async function dueAt({ webhooks }: WebhookStores, now: number): Promise<unknown[]> {
  const due = await webhooks.listDue("one", now, 10);
  return due.map(({ runId, sequence, attempts }) => [runId, sequence, attempts]);
}

export function describeWebhookOutbox(name: string, make: Make): void {
  async function withRuns(): Promise<Opened<WebhookStores>> {
    const stores = await make(receiversOf);
    await stores.it.runs.create(aRun());
    await stores.it.runs.create(aRun({ id: "run_2" }));
    await stores.it.runs.create(aRun({ id: "run_3", pipeline: "other" }));
    return stores;
  }

  describe(`WebhookOutbox of ${name}`, () => {
    it("holds an entry for each stored event that a receiver wants, and for no other", async () => {
      await using stores = await withRuns();
      await stores.it.runs.appendEvent("run_2", { type: "run.started", data: {}, timestamp: TIME });
      await stores.it.runs.appendEvent("run_3", { type: "delivery.created", data: {}, timestamp: TIME });
      await end(stores.it);
      expect(await stores.it.webhooks.listDue("one", NOW, 10)).toEqual([
        { ...first, tenant: "main", attempts: 0 },
      ]);
      expect(await stores.it.webhooks.listDue("two", NOW, 10)).toEqual([]);
      expect(await dueAt(stores.it, NOW - 1)).toEqual([]);
    });

    it("writes none for the end of a run that has ended already", async () => {
      await using stores = await withRuns();
      await end(stores.it);
      await stores.it.webhooks.remove(first);
      await end(stores.it);
      expect(await dueAt(stores.it, LATER)).toEqual([]);
    });

    it("gives the later entries of a run when the earlier ones are settled, and other runs at once", async () => {
      await using stores = await withRuns();
      await addFile(stores.it);
      await end(stores.it);
      await addFile(stores.it, "run_2");
      expect(await dueAt(stores.it, NOW)).toHaveLength(2);
      await stores.it.webhooks.postpone(first, LATER);
      expect(await dueAt(stores.it, NOW)).toEqual([["run_2", 1, 0]]);
      await stores.it.webhooks.remove(first);
      expect(await dueAt(stores.it, NOW)).toEqual(expect.arrayContaining([["run_1", 2, 0]]));
    });

    it("lets one attempt of an entry begin at a time, counts it, and finds it after a crash", async () => {
      await using stores = await withRuns();
      await addFile(stores.it);
      expect(await stores.it.webhooks.begin(first)).toBe(true);
      expect(await stores.it.webhooks.begin(first)).toBe(false);
      expect(await dueAt(stores.it, LATER)).toEqual([]);
      expect(await stores.it.webhooks.listInterrupted()).toMatchObject([{ ...first, attempts: 1 }]);
      await stores.it.webhooks.postpone(first, LATER);
      expect(await stores.it.webhooks.listInterrupted()).toEqual([]);
      expect(await dueAt(stores.it, LATER - 1)).toEqual([]);
      expect(await dueAt(stores.it, LATER)).toEqual([["run_1", 1, 1]]);
      await stores.it.webhooks.remove(first);
      expect(await stores.it.webhooks.begin(first)).toBe(false);
    });

    it("lets go of what receivers that are gone were to be told", async () => {
      await using stores = await withRuns();
      await addFile(stores.it);
      expect(await stores.it.webhooks.keepOnly(["one", "two"])).toBe(0);
      expect(await stores.it.webhooks.keepOnly(["two"])).toBe(1);
      await addFile(stores.it, "run_2");
      expect(await stores.it.webhooks.keepOnly([])).toBe(1);
      expect(await dueAt(stores.it, LATER)).toEqual([]);
    });
  });
}
