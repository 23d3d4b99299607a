/** What every ledger promises (runs §20, ports/run-store.ts). */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { RunId } from "../../src/domain/ids.js";
import type { RunChange, RunRecord, RunStore } from "../../src/ports/run-store.js";
import { aChat } from "../support/builders.js";
import type { Opened } from "../support/opened.js";
import { proves } from "../support/proves.js";
import { anOutcome, aRun } from "../support/records.js";

const started = { type: "run.started" as const, data: {}, timestamp: "2026-01-01T00:00:00.000Z" };
const delta = { type: "message.delta" as const, data: { n: 1 }, timestamp: "2026-01-01T00:00:01.000Z" };

function completed(record: RunRecord) {
  return {
    type: "run.completed" as const,
    data: { state: record.state, text: record.message?.content },
    timestamp: "2026-01-01T00:00:02.000Z",
  };
}

/** What an unchecked edge could hand over. */
function asChange(given: unknown): RunChange {
  return z.custom<RunChange>(() => true).parse(given);
}

function throwNoEvent(): never {
  throw new Error("no event");
}

function ids(runs: readonly RunRecord[]): readonly RunId[] {
  return runs.map(({ id }) => id);
}

const blob = { kind: "blob" as const, sha256: "c".repeat(64), sizeBytes: 99 };
const outcome = {
  index: 0,
  name: "table.csv",
  path: null,
  bytes: 99,
  mime_type: "text/csv",
  state: "pending" as const,
  reason: null,
};

export function describeRunStore(name: string, make: () => Promise<Opened<RunStore>>): void {
  describe(`RunStore of ${name}`, () => {
    describeRecords(make);
    describeListing(make);
    describeEvents(make);
    describeEnds(make);
    describeRetention(make);
    describeClaims(make);
    describeEpochs(make);
  });
}

function describeRecords(make: () => Promise<Opened<RunStore>>): void {
  const full = aRun({
    id: "run_full",
    state: "running",
    session: { id: "ses_1", key: "person_42" },
    input: {
      text: null,
      contents: [
        { type: "text", text: "Zahlen für 报告" },
        { type: "attachment", reference: "attachment-0" },
      ],
      attachments: [],
    },
    params: { lang: "en", deep: { list: [1, null, "x"] } },
    attachments: [outcome, { ...outcome, index: 1, state: "refused", reason: "Too large." }],
    attachmentSources: [blob, { kind: "refused", reason: "Too large.", sizeBytes: null }],
    onDisconnect: "cancel",
    retryOf: "run_before",
    startedAt: 1_700_000_000_123,
    warnings: [{ code: "tools.ignored", message: "Tools of the client are ignored." }],
  });

  it("gives a run back as it was created", async () => {
    await using store = await make();
    await store.it.create(full);
    expect(await store.it.get("main", "run_full")).toEqual(full);
  });

  it("knows no run of another tenant", async () => {
    await using store = await make();
    await store.it.create(aRun());
    expect(await store.it.get("other", "run_1")).toBeNull();
    expect(await store.it.get("main", "run_none")).toBeNull();
  });

  it("refuses a second run of the same id and keeps the first", async () => {
    await using store = await make();
    await store.it.create(aRun());
    await expect(store.it.create(aRun({ tenant: "other" }))).rejects.toThrow(/already|unique/i);
    expect(await store.it.get("main", "run_1")).toEqual(aRun());
  });

  it("changes the named fields of a run that is going on, and no others", async () => {
    await using store = await make();
    await store.it.create(full);
    const change = {
      state: "running" as const,
      session: { id: "ses_2" as const, key: "person_43" },
      attachments: [
        { ...outcome, state: "imported" as const, path: "/workspace/inbox/run_full/0/table.csv" },
        { ...outcome, index: 1, state: "refused" as const, reason: "Broken." },
      ],
      attachmentSources: [
        { kind: "refused" as const, reason: "Broken.", sizeBytes: null },
        { kind: "blob" as const, sha256: "e".repeat(64), sizeBytes: 12 },
      ],
      startedAt: 5_000,
      model: "main",
      toolRounds: 2,
      warnings: [],
    };
    expect(await store.it.update("run_full", change)).toBe(true);
    expect(await store.it.get("main", "run_full")).toEqual({ ...full, ...change });
    expect(await store.it.update("run_full", { toolRounds: 3 })).toBe(true);
    expect(await store.it.get("main", "run_full")).toEqual({ ...full, ...change, toolRounds: 3 });
    expect(await store.it.update("run_full", { session: null })).toBe(true);
    expect(await store.it.get("main", "run_full")).toMatchObject({ session: null, toolRounds: 3 });
  });

  it("changes nothing of a run that is terminal or not there", async () => {
    proves("STATE-06");
    await using store = await make();
    await store.it.create(aRun());
    await store.it.finish("run_1", anOutcome(), completed);
    expect(await store.it.update("run_1", { state: "running" })).toBe(false);
    expect(await store.it.update("run_none", { state: "running" })).toBe(false);
    expect(await store.it.get("main", "run_1")).toMatchObject({ state: "completed" });
  });
}

function describeListing(make: () => Promise<Opened<RunStore>>): void {
  const person = aChat();

  it("lists the newest run first, also among runs of one millisecond", async () => {
    await using store = await make();
    for (const id of ["run_c", "run_a", "run_b"] as const) await store.it.create(aRun({ id }));
    await store.it.create(aRun({ id: "run_other", tenant: "other" }));
    expect(ids(await store.it.list("main", { limit: 10 }))).toEqual(["run_b", "run_a", "run_c"]);
  });

  it("says where the newest runs of a session came from", async () => {
    await using store = await make();
    const session = { id: "ses_1" as const, key: "global" };
    const bob = { ...person, launcher_type: "group", launcher_id: "b:ob" };
    await store.it.create(aRun({ id: "run_1", session, createdAt: 1 }));
    await store.it.create(aRun({ id: "run_2", session, createdAt: 2, chat: bob }));
    await store.it.create(aRun({ id: "run_3", session, createdAt: 3 }));
    await store.it.create(aRun({ id: "run_4", session: { ...session, id: "ses_2" } }));
    await store.it.create(aRun({ id: "run_5", session, tenant: "other" }));
    expect(await store.it.listChats("main", "ses_1", 2)).toEqual([
      { chat: "person:42", createdAt: 3 },
      { chat: "group:b:ob", createdAt: 2 },
    ]);
    await store.it.create(aRun({ id: "run_6", session, chat: null }));
    expect(await store.it.listChats("main", "ses_1", 10)).toHaveLength(3);
    expect(await store.it.listChats("main", "ses_none", 10)).toEqual([]);
  });

  it("goes on after the last run of the page before", async () => {
    await using store = await make();
    for (const id of ["run_1", "run_2", "run_3"] as const) await store.it.create(aRun({ id }));
    expect(ids(await store.it.list("main", { limit: 2 }))).toEqual(["run_3", "run_2"]);
    expect(ids(await store.it.list("main", { limit: 2, after: "run_2" }))).toEqual(["run_1"]);
    expect(await store.it.list("main", { limit: 2, after: "run_1" })).toEqual([]);
  });

  it("keeps a run that came from no chat, with what it answers to", async () => {
    await using store = await make();
    const trigger = {
      event_type: "friend.request_received" as const,
      event_time: 1.25,
      source_event_type: "friend.add",
      actor: { actor_type: "user", id: "9", name: "Bo" },
      subject: { type: "friend_request", id: "r1", data: { via: ["search", null] } },
      data: { attempts: 2 },
    };
    const run = aRun({ chat: null, trigger });
    await store.it.create(run);
    expect(await store.it.get("main", "run_1")).toEqual(run);
    expect(await store.it.list("main", { limit: 9, chat: "person:42" })).toEqual([]);
  });

  it("gives an empty page after a run that the tenant does not have", async () => {
    await using store = await make();
    await store.it.create(aRun());
    await store.it.create(aRun({ id: "run_theirs", tenant: "other" }));
    expect(await store.it.list("main", { limit: 2, after: "run_none" })).toEqual([]);
    expect(await store.it.list("main", { limit: 2, after: "run_theirs" })).toEqual([]);
  });

  it("filters by conversation and runner", async () => {
    await using store = await make();
    await store.it.create(aRun({ id: "run_1" }));
    await store.it.create(aRun({ id: "run_2", runner: "plugin:other/agent/default" }));
    await store.it.create(aRun({ id: "run_3", conversation: "conversation-2" }));
    const conversation = "conversation-1";
    expect(ids(await store.it.list("main", { limit: 9, conversation }))).toEqual(["run_2", "run_1"]);
    const runner = "plugin:other/agent/default";
    expect(ids(await store.it.list("main", { limit: 9, conversation, runner }))).toEqual(["run_2"]);
  });

  it("filters by session, chat and states", async () => {
    await using store = await make();
    await store.it.create(aRun({ id: "run_1", session: { id: "ses_1", key: "k" } }));
    await store.it.create(aRun({ id: "run_2", chat: { ...person, launcher_id: "a:b" }, state: "running" }));
    await store.it.create(aRun({ id: "run_3", chat: { ...person, launcher_type: "group" } }));
    expect(ids(await store.it.list("main", { limit: 9, session: "ses_1" }))).toEqual(["run_1"]);
    expect(ids(await store.it.list("main", { limit: 9, chat: "person:a:b" }))).toEqual(["run_2"]);
    expect(ids(await store.it.list("main", { limit: 9, chat: "group:42" }))).toEqual(["run_3"]);
    expect(ids(await store.it.list("main", { limit: 9, states: ["running"] }))).toEqual(["run_2"]);
    expect(ids(await store.it.list("main", { limit: 9, states: ["queued", "created"] }))).toEqual([
      "run_3",
      "run_1",
    ]);
    expect(await store.it.list("main", { limit: 9, states: [] })).toEqual([]);
    expect(await store.it.list("main", { limit: 9, chat: "person:42", states: ["running"] })).toEqual([]);
  });

  it("lists the open runs of all tenants, oldest first", async () => {
    await using store = await make();
    await store.it.create(aRun({ id: "run_b", state: "running" }));
    await store.it.create(aRun({ id: "run_z", tenant: "other" }));
    await store.it.create(aRun({ id: "run_a", state: "created" }));
    await store.it.create(aRun({ id: "run_done" }));
    await store.it.finish("run_done", anOutcome(), completed);
    expect(ids(await store.it.listOpen())).toEqual(["run_b", "run_z", "run_a"]);
  });
}

function describeEvents(make: () => Promise<Opened<RunStore>>): void {
  it("numbers the events of each run from 1 without gaps", async () => {
    await using store = await make();
    await store.it.create(aRun());
    await store.it.create(aRun({ id: "run_2" }));
    expect(await store.it.appendEvent("run_1", started)).toEqual({
      ...started,
      run_id: "run_1",
      sequence: 1,
    });
    expect(await store.it.appendEvent("run_2", started)).toMatchObject({ run_id: "run_2", sequence: 1 });
    expect(await store.it.appendEvent("run_1", delta)).toMatchObject({ sequence: 2 });
  });

  it("numbers simultaneous events without a gap or a repeat", async () => {
    await using store = await make();
    await store.it.create(aRun());
    const stored = await Promise.all(Array.from({ length: 20 }, () => store.it.appendEvent("run_1", delta)));
    const numbers = stored.map((event) => event?.sequence ?? 0).toSorted((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it("gives events after a number, oldest first, as many as asked for", async () => {
    await using store = await make();
    await store.it.create(aRun());
    for (const event of [started, delta, delta]) await store.it.appendEvent("run_1", event);
    expect(await store.it.eventsAfter("run_1", 0, 2)).toEqual([
      { ...started, run_id: "run_1", sequence: 1 },
      { ...delta, run_id: "run_1", sequence: 2 },
    ]);
    expect(await store.it.eventsAfter("run_1", 2, 10)).toEqual([{ ...delta, run_id: "run_1", sequence: 3 }]);
    expect(await store.it.eventsAfter("run_1", 3, 10)).toEqual([]);
    expect(await store.it.eventsAfter("run_none", 0, 10)).toEqual([]);
    expect(await store.it.lastSequence("run_1")).toBe(3);
    expect(await store.it.lastSequence("run_none")).toBe(0);
  });

  it("takes no event for a run that is terminal or not there", async () => {
    await using store = await make();
    await store.it.create(aRun());
    await store.it.finish("run_1", anOutcome(), completed);
    expect(await store.it.appendEvent("run_1", delta)).toBeNull();
    expect(await store.it.appendEvent("run_none", delta)).toBeNull();
    expect(await store.it.eventsAfter("run_1", 0, 10)).toHaveLength(1);
  });

  it("keeps an event as it was appended, whatever becomes of the object", async () => {
    await using store = await make();
    await store.it.create(aRun());
    const data = { text: "first" };
    await store.it.appendEvent("run_1", { ...delta, data });
    data.text = "later";
    expect(await store.it.eventsAfter("run_1", 0, 1)).toMatchObject([{ data: { text: "first" } }]);
  });
}

function describeEnds(make: () => Promise<Opened<RunStore>>): void {
  const final = anOutcome({
    state: "failed",
    message: { content: "half an ans", partial: true },
    outboxLeft: [{ path: "/workspace/outbox/run_1/draft.txt", bytes: 10 }],
    attachments: [{ ...outcome, state: "imported", path: "/workspace/inbox/run_1/0/table.csv" }],
    usage: {
      model_calls: 1,
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      turns: [{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }],
    },
    finishReason: null,
    warnings: [{ code: "limit", message: "A limit struck." }],
    error: { code: "runner.timeout", message: "Too long.", retryable: true, details: { limit_sec: 300 } },
  });

  it("writes the outcome and the terminal event together", async () => {
    await using store = await make();
    const run = aRun({ attachments: [outcome], attachmentSources: [blob] });
    await store.it.create(run);
    await store.it.appendEvent("run_1", started);
    const event = await store.it.finish("run_1", final, completed);
    expect(event).toMatchObject({ sequence: 2, data: { state: "failed", text: "half an ans" } });
    expect(await store.it.get("main", "run_1")).toEqual({ ...run, ...final });
    expect(await store.it.eventsAfter("run_1", 1, 10)).toEqual([event]);
  });

  it("shows the record as it will stand to the maker of the event", async () => {
    await using store = await make();
    await store.it.create(aRun({ state: "running", startedAt: 2_000 }));
    const seen: RunRecord[] = [];
    await store.it.finish("run_1", final, (record) => {
      seen.push(record);
      return completed(record);
    });
    expect(seen).toEqual([await store.it.get("main", "run_1")]);
  });

  it("leaves the run as it was when the terminal event cannot be made", async () => {
    await using store = await make();
    await store.it.create(aRun());
    await expect(store.it.finish("run_1", final, throwNoEvent)).rejects.toThrow("no event");
    expect(await store.it.get("main", "run_1")).toEqual(aRun());
    expect(await store.it.appendEvent("run_1", started)).toMatchObject({ sequence: 1 });
  });

  it("keeps the first terminal state for ever", async () => {
    await using store = await make();
    await store.it.create(aRun());
    const ends = await Promise.all([
      store.it.finish("run_1", anOutcome(), completed),
      store.it.finish("run_1", anOutcome({ state: "cancelled" }), completed),
    ]);
    expect(ends).toMatchObject([{ sequence: 1 }, null]);
    expect(await store.it.finish("run_1", final, completed)).toBeNull();
    expect(await store.it.finish("run_none", final, completed)).toBeNull();
    expect(await store.it.get("main", "run_1")).toMatchObject({ state: "completed", error: null });
  });

  it("takes more of what is kept with a run also when it is terminal, and no state that there is not", async () => {
    proves("STATE-07");
    await using store = await make();
    await store.it.create(aRun({ metadata: { first: 1, both: "old" } }));
    await store.it.finish("run_1", anOutcome(), completed);
    expect(await store.it.mergeMetadata("run_1", { both: "new", more: { list: [1] } })).toBe(true);
    expect(await store.it.get("main", "run_1")).toEqual({
      ...aRun(),
      ...anOutcome(),
      metadata: { first: 1, both: "new", more: { list: [1] } },
    });
    expect(await store.it.mergeMetadata("run_none", { a: 1 })).toBe(false);
    for (const state of ["sleeping", "completed"]) {
      await expect(store.it.update("run_1", asChange({ state }))).rejects.toMatchObject({
        code: "request.invalid",
      });
    }
    expect(await store.it.get("main", "run_1")).toMatchObject({ state: "completed" });
  });

  it("turns a completed run into a failed one when a delivery failed", async () => {
    await using store = await make();
    await store.it.create(aRun());
    const error = { code: "delivery.failed", message: "The bot refused chart.png.", retryable: false };
    await store.it.failDelivered("run_1", error);
    expect(await store.it.get("main", "run_1")).toEqual(aRun());
    await store.it.finish("run_1", anOutcome(), completed);
    await store.it.failDelivered("run_1", error);
    expect(await store.it.get("main", "run_1")).toEqual({
      ...aRun(),
      ...anOutcome({ state: "failed", error }),
    });
  });

  it.each(["failed", "cancelled", "timeout"] as const)(
    "leaves a run that is %s alone when a delivery failed",
    async (state) => {
      await using store = await make();
      await store.it.create(aRun());
      await store.it.finish("run_1", anOutcome({ state }), completed);
      await store.it.failDelivered("run_1", { code: "delivery.failed", message: "No.", retryable: false });
      expect(await store.it.get("main", "run_1")).toMatchObject({ state, error: null });
    },
  );
}

function describeRetention(make: () => Promise<Opened<RunStore>>): void {
  const other = { kind: "blob" as const, sha256: "d".repeat(64), sizeBytes: 7 };

  it("lets go of the bytes of old runs that ended, and says why they are gone", async () => {
    await using store = await make();
    const carrying = { attachments: [outcome, outcome], attachmentSources: [blob, other] };
    await store.it.create(aRun({ id: "run_old", ...carrying }));
    await store.it.create(aRun({ id: "run_open", ...carrying }));
    await store.it.create(aRun({ id: "run_new", createdAt: 2_000, ...carrying }));
    for (const id of ["run_old", "run_new"] as const)
      await store.it.finish(id, anOutcome({ attachments: carrying.attachments }), completed);
    const released = await store.it.releaseAttachments(2_000, "Kept 30 days.", 10);
    expect(released.toSorted()).toEqual([blob.sha256, other.sha256]);
    const sources = async (id: RunId) => (await store.it.get("main", id))?.attachmentSources;
    expect(await sources("run_old")).toEqual([
      { kind: "refused", reason: "Kept 30 days.", sizeBytes: 99 },
      { kind: "refused", reason: "Kept 30 days.", sizeBytes: 7 },
    ]);
    expect(await sources("run_open")).toEqual([blob, other]);
    expect(await sources("run_new")).toEqual([blob, other]);
  });

  it("lets go of bytes that became an attachment's source while the run was going on", async () => {
    await using store = await make();
    const url = { kind: "url" as const, url: "https://example.com/a" };
    await store.it.create(aRun({ attachments: [outcome], attachmentSources: [url] }));
    await store.it.update("run_1", { attachmentSources: [other] });
    await store.it.finish("run_1", anOutcome({ attachments: [outcome] }), completed);
    expect(await store.it.releaseAttachments(2_000, "Old.", 10)).toEqual([other.sha256]);
  });

  it("removes old runs that have ended, with their events, no more than asked for", async () => {
    await using store = await make();
    for (const id of ["run_1", "run_2", "run_3"] as const) {
      await store.it.create(aRun({ id, attachments: [outcome], attachmentSources: [blob] }));
      await store.it.appendEvent(id, started);
      await store.it.finish(id, anOutcome({ attachments: [outcome] }), completed);
    }
    await store.it.create(aRun({ id: "run_open" }));
    await store.it.create(aRun({ id: "run_new", createdAt: 2_000 }));
    await store.it.finish("run_new", anOutcome(), completed);
    expect(await store.it.removeEnded(2_000, 2)).toBe(2);
    expect(await store.it.removeEnded(2_000, 2)).toBe(1);
    expect(ids(await store.it.list("main", { limit: 9 }))).toEqual(["run_new", "run_open"]);
    expect(await store.it.eventsAfter("run_1", 0, 9)).toEqual([]);
  });

  it("lets go of no more than asked for, and of the rest the next time", async () => {
    await using store = await make();
    await store.it.create(aRun({ attachments: [outcome, outcome], attachmentSources: [blob, other] }));
    await store.it.finish("run_1", anOutcome({ attachments: [outcome, outcome] }), completed);
    const first = await store.it.releaseAttachments(2_000, "Old.", 1);
    const second = await store.it.releaseAttachments(2_000, "Old.", 1);
    expect([...first, ...second].toSorted()).toEqual([blob.sha256, other.sha256]);
    expect(await store.it.releaseAttachments(2_000, "Old.", 1)).toEqual([]);
  });
}

const one = { worker: "one", now: 1_000, expiresAt: 31_000 };
const two = { worker: "two", now: 2_000, expiresAt: 32_000 };

function describeClaims(make: () => Promise<Opened<RunStore>>): void {
  it("gives a queued run to the first worker that claims it, and to no other", async () => {
    await using store = await make();
    await store.it.create(aRun());
    const claimed = { ...aRun(), state: "claimed", epoch: 1, claim: { worker: "one", expiresAt: 31_000 } };
    expect(await Promise.all([store.it.claim("run_1", one), store.it.claim("run_1", two)])).toEqual([
      claimed,
      null,
    ]);
    expect(await store.it.get("main", "run_1")).toEqual(claimed);
    expect(await store.it.claim("run_none", one)).toBeNull();
  });

  it("gives an expired claim to another worker under the next epoch", async () => {
    await using store = await make();
    await store.it.create(aRun());
    await store.it.claim("run_1", one);
    await store.it.update("run_1", { state: "running", startedAt: 1_500 }, 1);
    expect(await store.it.claim("run_1", { ...two, now: 30_999 })).toBeNull();
    const taken = await store.it.claim("run_1", { ...two, now: 31_000, expiresAt: 61_000 });
    expect(taken).toMatchObject({ epoch: 2, startedAt: 1_500, claim: { worker: "two", expiresAt: 61_000 } });
  });

  it("lets nobody claim a run that was stored for another, or that has ended", async () => {
    await using store = await make();
    await store.it.create(aRun({ id: "run_created", state: "created" }));
    await store.it.create(aRun());
    await store.it.finish("run_1", anOutcome(), completed);
    expect(await store.it.claim("run_created", one)).toBeNull();
    expect(await store.it.claim("run_1", one)).toBeNull();
  });

  it("lets no two workers hold runs of one conversation", async () => {
    await using store = await make();
    await store.it.create(aRun());
    await store.it.create(aRun({ id: "run_2" }));
    await store.it.create(aRun({ id: "run_3", conversation: "conversation-2" }));
    await store.it.create(aRun({ id: "run_4", tenant: "other" }));
    const claims = await Promise.all(
      (["run_1", "run_2", "run_3", "run_4"] as const).map((id) =>
        store.it.claim(id, id === "run_1" ? one : two),
      ),
    );
    expect(claims.map((run) => run?.id ?? null)).toEqual(["run_1", null, "run_3", "run_4"]);
    await store.it.finish("run_1", anOutcome(), completed, { epoch: 1 });
    expect(await store.it.claim("run_2", two)).toMatchObject({ id: "run_2", epoch: 1 });
  });

  it("prolongs the claims of a worker that have not expired, and names them", async () => {
    await using store = await make();
    for (const id of ["run_1", "run_2", "run_3"] as const)
      await store.it.create(aRun({ id, conversation: id }));
    await store.it.claim("run_1", { ...one, expiresAt: 5_000 });
    await store.it.claim("run_2", one);
    await store.it.claim("run_3", two);
    await store.it.update("run_2", { state: "running" }, 1);
    expect(await store.it.renew({ ...one, now: 5_000, expiresAt: 40_000 })).toEqual(["run_2"]);
    expect(await store.it.get("main", "run_1")).toMatchObject({ claim: { expiresAt: 5_000 } });
    expect(await store.it.get("main", "run_2")).toMatchObject({ claim: { expiresAt: 40_000 } });
    expect(await store.it.renew({ ...one, now: 40_000, expiresAt: 80_000 })).toEqual([]);
  });

  it("takes back a claim from its holder alone, and only before the run has begun", async () => {
    await using store = await make();
    await store.it.create(aRun());
    await store.it.claim("run_1", one);
    expect(await store.it.release("run_1", 2, 1_000)).toBe(false);
    expect(await store.it.release("run_1", 1, 31_000)).toBe(false);
    expect(await store.it.release("run_1", 1, 30_000)).toBe(true);
    expect(await store.it.get("main", "run_1")).toEqual({ ...aRun(), epoch: 1 });
    await store.it.claim("run_1", two);
    await store.it.update("run_1", { state: "running" }, 2);
    expect(await store.it.release("run_1", 2, 2_000)).toBe(false);
  });

  it("lists the runs that nobody works for, oldest first", async () => {
    await using store = await make();
    for (const id of ["run_expired", "run_waiting", "run_held", "run_old"] as const)
      await store.it.create(aRun({ id, conversation: id }));
    await store.it.create(aRun({ id: "run_new", createdAt: 9_000 }));
    await store.it.create(aRun({ id: "run_steered", state: "created" }));
    await store.it.create(aRun({ id: "run_unclaimed", state: "running" }));
    await store.it.claim("run_expired", { ...one, expiresAt: 4_000 });
    await store.it.claim("run_held", one);
    await store.it.finish("run_old", anOutcome(), completed);
    expect(ids(await store.it.listAdrift(4_000, 9_000))).toEqual([
      "run_expired",
      "run_waiting",
      "run_unclaimed",
    ]);
    expect(ids(await store.it.listAdrift(3_999, 1_000))).toEqual(["run_unclaimed"]);
  });
}

function describeEpochs(make: () => Promise<Opened<RunStore>>): void {
  it("takes no write of a worker whose run was claimed anew", async () => {
    await using store = await make();
    await store.it.create(aRun());
    await store.it.claim("run_1", { ...one, expiresAt: 1_500 });
    expect(await store.it.appendEvent("run_1", started, 1)).toMatchObject({ sequence: 1 });
    expect(await store.it.update("run_1", { state: "running" }, 1)).toBe(true);
    await store.it.claim("run_1", two);
    expect(await store.it.appendEvent("run_1", delta, 1)).toBeNull();
    expect(await store.it.update("run_1", { model: "old" }, 1)).toBe(false);
    expect(await store.it.finish("run_1", anOutcome({ message: null }), completed, { epoch: 1 })).toBeNull();
    expect(await store.it.finish("run_1", anOutcome(), completed, { epoch: 2 })).toMatchObject({
      sequence: 2,
    });
    expect(await store.it.get("main", "run_1")).toEqual({ ...aRun(), ...anOutcome(), epoch: 2 });
  });
}
