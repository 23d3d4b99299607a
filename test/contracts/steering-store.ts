/** What every store of steered messages promises (runs §14, ports/steering-store.ts). */
import { describe, expect, it } from "vitest";
import type { RunId } from "../../src/domain/ids.js";
import type { RunRecord, RunStore } from "../../src/ports/run-store.js";
import type { SteeringStore } from "../../src/ports/steering-store.js";
import type { TranscriptStore } from "../../src/ports/transcript-store.js";
import type { Opened } from "../support/opened.js";
import { proves } from "../support/proves.js";
import { anOutcome, aRun, aTranscriptItem } from "../support/records.js";

export interface SteeringStores {
  readonly runs: RunStore;
  readonly transcripts: TranscriptStore;
  readonly steering: SteeringStore;
}

type Make = () => Promise<Opened<SteeringStores>>;

const worker = { worker: "one", now: 1_000, expiresAt: 31_000 };
const pull = { epoch: 1, limit: 100, now: 5_000, before: null };

function ended({ state }: RunRecord) {
  return { type: "run.completed" as const, data: { state }, timestamp: "2026-01-01T00:00:02.000Z" };
}

/** A claimed run that has three messages waiting for it. */
async function withThree(make: Make): Promise<Opened<SteeringStores>> {
  const stores = await make();
  await stores.it.runs.create(aRun());
  await stores.it.runs.claim("run_1", worker);
  for (const id of ["run_a", "run_b", "run_c"] as const) await offer(stores.it, id);
  return stores;
}

async function offer({ steering }: SteeringStores, id: RunId, limit = 100): Promise<string> {
  const message = aRun({ id, createdAt: 2_000 });
  return steering.offer({ message, text: `Says ${id}`, runId: "run_1", limit });
}

async function places({ steering }: SteeringStores): Promise<unknown[]> {
  return (await steering.listByRun("main", "run_1")).map(({ id, place }) => [id, place]);
}

async function audited({ steering }: SteeringStores): Promise<string[]> {
  return (await steering.listAudit("main", "run_1")).map(({ type, subject }) => `${type} ${subject}`);
}

async function history({ transcripts }: SteeringStores): Promise<unknown[]> {
  const page = { direction: "forward" as const, from: null, limit: 100 };
  const items = await transcripts.page("main", "conversation-1", page);
  return items.map(({ message, run_id }) => [run_id, message.role, message.content]);
}

export function describeSteeringStore(name: string, make: Make): void {
  describe(`SteeringStore of ${name}`, () => {
    describeOffers(make);
    describePulls(make);
    describeSettlement(make);
  });
}

function describeOffers(make: Make): void {
  it("keeps a message as a run that nobody executes, until it is known what becomes of it", async () => {
    await using stores = await withThree(make);
    const { runs, steering } = stores.it;
    expect(await runs.get("main", "run_a")).toMatchObject({ state: "created" });
    expect(await steering.get("main", "run_a")).toEqual({
      id: "run_a",
      tenant: "main",
      runId: "run_1",
      place: "waiting",
      text: "Says run_a",
      createdAt: 2_000,
      changedAt: 2_000,
    });
    expect(await steering.get("other", "run_a")).toBeNull();
    expect(await steering.get("main", "run_none")).toBeNull();
    expect(await steering.listByRun("other", "run_1")).toEqual([]);
    expect(await audited(stores.it)).toEqual([
      "steering.queued run_a",
      "steering.queued run_b",
      "steering.queued run_c",
    ]);
  });

  it("takes as many messages as it may, and keeps nothing of the others", async () => {
    await using stores = await withThree(make);
    expect(await offer(stores.it, "run_d", 3)).toBe("full");
    expect(await stores.it.runs.get("main", "run_d")).toBeNull();
    expect(await offer(stores.it, "run_d", 4)).toBe("waiting");
  });

  it("takes no message for a run that has ended", async () => {
    await using stores = await make();
    await stores.it.runs.create(aRun());
    await stores.it.runs.finish("run_1", anOutcome(), ended);
    expect(await offer(stores.it, "run_a")).toBe("ended");
    expect(await stores.it.runs.get("main", "run_a")).toBeNull();
  });
}

function describePulls(make: Make): void {
  it("gives one message or all, in order of arrival", async () => {
    proves("STATE-10");
    await using stores = await withThree(make);
    const { steering } = stores.it;
    const first = await steering.pull("run_1", { ...pull, limit: 1 });
    expect(first?.messages.map(({ id }) => id)).toEqual(["run_a"]);
    const rest = await steering.pull("run_1", pull);
    expect(rest?.messages.map(({ id, place }) => [id, place])).toEqual([
      ["run_b", "history"],
      ["run_c", "history"],
    ]);
    expect(await steering.pull("run_1", pull)).toEqual({ messages: [], sequence: 0 });
  });

  it("writes history and events in the same step, after what the messages follow", async () => {
    await using stores = await withThree(make);
    const { runs, steering, transcripts } = stores.it;
    await transcripts.append(aTranscriptItem());
    const before = aTranscriptItem({ message: { role: "assistant", content: "So far." } });
    const pulled = await steering.pull("run_1", { ...pull, limit: 2, before });
    expect(pulled?.sequence).toBe(2);
    expect(await history(stores.it)).toEqual([
      ["run_1", "user", "Hello"],
      ["run_1", "assistant", "So far."],
      ["run_1", "user", "Says run_a"],
      ["run_1", "user", "Says run_b"],
    ]);
    expect(await runs.eventsAfter("run_1", 0, 9)).toMatchObject([
      { type: "steering.injected", sequence: 1, data: { message_id: "run_a", text: "Says run_a" } },
      { type: "steering.injected", sequence: 2, data: { message_id: "run_b", text: "Says run_b" } },
    ]);
    expect(await runs.get("main", "run_a")).toBeNull();
    expect((await audited(stores.it)).slice(3)).toEqual([
      "steering.injected run_a",
      "steering.injected run_b",
    ]);
  });

  it("gives nothing to a worker whose run was claimed anew, and nothing of a run that has ended", async () => {
    await using stores = await withThree(make);
    const { runs, steering } = stores.it;
    await runs.claim("run_1", { ...worker, worker: "two", now: 31_000, expiresAt: 61_000 });
    expect(await steering.pull("run_1", pull)).toBeNull();
    expect(await steering.pull("run_1", { ...pull, epoch: 2, limit: 1 })).toMatchObject({ sequence: 1 });
    expect(await history(stores.it)).toEqual([["run_1", "user", "Says run_a"]]);
    await runs.finish("run_1", anOutcome(), ended, { epoch: 2 });
    expect(await steering.pull("run_1", { ...pull, epoch: 2 })).toEqual({ messages: [], sequence: 0 });
  });
}

function describeSettlement(make: Make): void {
  it("makes queued runs of the messages that wait when their run ends, at their place in order of arrival", async () => {
    await using stores = await withThree(make);
    const { runs, steering } = stores.it;
    await runs.create(aRun({ id: "run_later" }));
    await steering.pull("run_1", { ...pull, limit: 1 });
    await runs.finish("run_1", anOutcome({ state: "cancelled" }), ended, { epoch: 1 });
    expect(await places(stores.it)).toEqual([
      ["run_a", "history"],
      ["run_b", "queue"],
      ["run_c", "queue"],
    ]);
    const open = await runs.listOpen();
    expect(open.map(({ id, state }) => [id, state])).toEqual([
      ["run_b", "queued"],
      ["run_c", "queued"],
      ["run_later", "queued"],
    ]);
    expect((await audited(stores.it)).slice(4)).toEqual([
      "steering.requeued run_b",
      "steering.requeued run_c",
    ]);
  });

  it("leaves messages where they are when it was not their run's worker that ended it", async () => {
    await using stores = await withThree(make);
    await stores.it.runs.finish("run_1", anOutcome(), ended, { epoch: 7 });
    expect((await places(stores.it))[0]).toEqual(["run_a", "waiting"]);
  });

  it("drops messages whose chat is gone, and says so", async () => {
    await using stores = await withThree(make);
    await stores.it.runs.finish("run_1", anOutcome(), ended, { epoch: 1, steered: "drop" });
    expect(await places(stores.it)).toEqual([
      ["run_a", "dropped"],
      ["run_b", "dropped"],
      ["run_c", "dropped"],
    ]);
    expect(await stores.it.runs.listOpen()).toEqual([]);
    expect(await history(stores.it)).toEqual([]);
    expect((await audited(stores.it)).slice(3, 4)).toEqual(["steering.dropped run_a"]);
  });

  it("puts messages of a cleared queue into the history, where nobody answers them", async () => {
    await using stores = await withThree(make);
    await stores.it.runs.finish("run_1", anOutcome(), ended, { epoch: 1, steered: "clear" });
    expect((await places(stores.it))[2]).toEqual(["run_c", "not_answered"]);
    expect(await history(stores.it)).toEqual([
      ["run_1", "user", "Says run_a"],
      ["run_1", "user", "Says run_b"],
      ["run_1", "user", "Says run_c"],
    ]);
    expect(await stores.it.runs.listOpen()).toEqual([]);
  });

  it("marks only messages in the queue as not answered", async () => {
    await using stores = await withThree(make);
    const { runs, steering } = stores.it;
    await steering.pull("run_1", { ...pull, limit: 1 });
    await runs.finish("run_1", anOutcome(), ended, { epoch: 1 });
    await steering.markNotAnswered(["run_a", "run_b"], 9_500);
    await steering.markNotAnswered([], 9_500);
    expect(await places(stores.it)).toEqual([
      ["run_a", "history"],
      ["run_b", "not_answered"],
      ["run_c", "queue"],
    ]);
    expect(await steering.get("main", "run_b")).toMatchObject({ changedAt: 9_500 });
  });
}
