/** What every store of event records promises (runs §7.1, §17, ports/event-store.ts). */
import { describe, expect, it } from "vitest";
import type { EventEntry } from "../../src/domain/history.js";
import type { EventStore } from "../../src/ports/event-store.js";
import type { Opened } from "../support/opened.js";
import { anEventRecord } from "../support/records.js";

const SCOPE = { tenant: "main", conversation: "conversation-1" };

function summaries(entries: readonly EventEntry[]): string[] {
  return entries.map(({ summary }) => summary);
}

async function fill({ it: store }: Opened<EventStore>, ...names: readonly string[]): Promise<EventEntry[]> {
  const entries: EventEntry[] = [];
  for (const name of names)
    entries.push(
      await store.append(anEventRecord({ run_id: `run_${name}`, event_id: `host:${name}`, summary: name })),
    );
  return entries;
}

export function describeEventStore(name: string, make: () => Promise<Opened<EventStore>>): void {
  describe(`EventStore of ${name}`, () => {
    describeRecords(make);
    describePages(make);
  });
}

function describeRecords(make: () => Promise<Opened<EventStore>>): void {
  it("gives a record back as it was appended, without its place", async () => {
    await using store = await make();
    const record = anEventRecord({
      event_type: "group.member_joined",
      event_time: 1_700_000_000.123,
      source_event_type: "chat.members.added",
      subject: { type: "group", id: "g1", data: { role: "guest", list: [1, null] } },
      data: { count: 2, is_bot: false },
      bot_id: "web",
      thread_id: "t1",
    });
    const entry = await store.it.append(record);
    const { tenant: _tenant, conversation: _conversation, ...facts } = record;
    expect(entry).toEqual({ ...facts, sequence: entry.sequence });
    expect(await store.it.get(SCOPE, "host:1")).toEqual(entry);
    expect(await store.it.page(SCOPE, { direction: "backward", from: null, limit: 1 })).toEqual([entry]);
  });

  it("keeps one record for a run, the first", async () => {
    await using store = await make();
    const first = await store.it.append(anEventRecord());
    expect(await store.it.append(anEventRecord({ summary: "other" }))).toEqual(first);
    expect(await store.it.page(SCOPE, { direction: "forward", from: null, limit: 9 })).toEqual([first]);
  });

  it("gives the newest record of an event that was repeated", async () => {
    await using store = await make();
    await store.it.append(anEventRecord());
    const again = await store.it.append(anEventRecord({ run_id: "run_2" }));
    expect(await store.it.get(SCOPE, "host:1")).toEqual(again);
  });

  it("removes records older than a time, some at once, and numbers none anew", async () => {
    await using store = await make();
    for (const [name, created_at] of [
      ["a", 1],
      ["b", 2],
      ["c", 3],
      ["d", 4],
    ] as const)
      await store.it.append(anEventRecord({ run_id: `run_${name}`, event_id: `host:${name}`, created_at }));
    expect(await store.it.removeOlderThan(4, 2)).toBe(2);
    expect(await store.it.removeOlderThan(4, 2)).toBe(1);
    expect(await store.it.removeOlderThan(4, 2)).toBe(0);
    const all = { direction: "forward" as const, from: null, limit: 9 };
    expect(await store.it.page(SCOPE, all)).toMatchObject([{ event_id: "host:d" }]);
    const { sequence } = await store.it.append(anEventRecord({ run_id: "run_e" }));
    expect((await store.it.page(SCOPE, all)).at(-1)).toMatchObject({ sequence, run_id: "run_e" });
  });

  it("raises the sequence, also for simultaneous records", async () => {
    await using store = await make();
    const entries = await Promise.all(
      Array.from({ length: 10 }, (_, i) => store.it.append(anEventRecord({ run_id: `run_${i}` }))),
    );
    expect(new Set(entries.map(({ sequence }) => sequence)).size).toBe(10);
    const later = await store.it.append(anEventRecord({ run_id: "run_later" }));
    expect(later.sequence).toBeGreaterThan(Math.max(...entries.map(({ sequence }) => sequence)));
  });
}

function describePages(make: () => Promise<Opened<EventStore>>): void {
  it("pages backward with the newest first, strictly before a sequence", async () => {
    await using store = await make();
    const [, , third] = await fill(store, "a", "b", "c", "d");
    const page = { direction: "backward" as const, limit: 2 };
    expect(summaries(await store.it.page(SCOPE, { ...page, from: null }))).toEqual(["d", "c"]);
    expect(summaries(await store.it.page(SCOPE, { ...page, from: third?.sequence ?? 0 }))).toEqual([
      "b",
      "a",
    ]);
  });

  it("pages forward with the oldest first, strictly after a sequence", async () => {
    await using store = await make();
    const [, second] = await fill(store, "a", "b", "c", "d");
    const page = { direction: "forward" as const, limit: 2 };
    expect(summaries(await store.it.page(SCOPE, { ...page, from: null }))).toEqual(["a", "b"]);
    expect(summaries(await store.it.page(SCOPE, { ...page, from: second?.sequence ?? 0 }))).toEqual([
      "c",
      "d",
    ]);
  });

  it("shows nothing of another conversation or tenant", async () => {
    await using store = await make();
    await fill(store, "a");
    for (const scope of [
      { ...SCOPE, conversation: "conversation-2" },
      { ...SCOPE, tenant: "other" },
    ]) {
      expect(await store.it.get(scope, "host:a")).toBeNull();
      expect(await store.it.page(scope, { direction: "backward", from: null, limit: 9 })).toEqual([]);
    }
  });
}
