import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryRunStore } from "../../../src/adapters/memory/memory-run-store.js";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import { toServiceError } from "../../../src/domain/errors.js";
import type { RunId } from "../../../src/domain/ids.js";
import { type RunEvent, TERMINAL_EVENTS } from "../../../src/domain/run.js";
import type { IncomingContent, MessageRequest } from "../../../src/runs/run-request.js";
import { nativeTools } from "../../../src/tools/native/index.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { Gate } from "../../fakes/gate.js";
import { HeldRuns } from "../../fakes/held-runner.js";
import { failed, message, ScriptedRunner } from "../../fakes/scripted-runner.js";
import { aChat, aPipeline, aRequest, CALLER } from "../../support/builders.js";
import { proves } from "../../support/proves.js";
import { aFile, aRun } from "../../support/records.js";
import { aRunWorld, NEVER, type RunWorld, type WorldOptions } from "../../support/run-world.js";

const CALL = { signal: NEVER };
const OTHER = { tenant: "other", role: "client" } as const;
/** Everything that can happen by itself has happened. */
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function aHeldWorld(options: WorldOptions = {}): { world: RunWorld; held: HeldRuns } {
  const held = new HeldRuns();
  return { held, world: aRunWorld({ ...options, runner: held.runner }) };
}

async function send(world: RunWorld, text: string, fields: Partial<MessageRequest> = {}): Promise<RunId> {
  return (await world.serve.admit(aRequest({ text, ...fields }), CALLER, CALL)).run.id;
}

function keyed(key: string, bodyHash = "a".repeat(64)): Pick<MessageRequest, "idempotency"> {
  return { idempotency: { key, bodyHash } };
}

function aBase64File(text: string): IncomingContent {
  const source = { kind: "base64" as const, data: Buffer.from(text).toString("base64") };
  return { type: "attachment", kind: "file", name: "table.csv", mimeType: null, source };
}

async function readAll(events: AsyncIterable<RunEvent>): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of events) types.push(type);
  return types;
}

describe("ServeRuns: admission", () => {
  it("answers with the queued run at once, and the run goes on by itself", async () => {
    const runner = new ScriptedRunner({ results: [message("Hi")] });
    await using world = aRunWorld({ runner });
    const { run, queued } = await world.serve.admit(aRequest(), CALLER, CALL);
    expect({ status: run.status, queued }).toEqual({ status: "queued", queued: false });
    expect(await world.serve.wait(CALLER, run.id, CALL)).toMatchObject({
      status: "completed",
      message: { role: "assistant", content: "Hi" },
    });
    expect((await world.serve.get(CALLER, run.id)).status).toBe("completed");
  });

  it("refuses an unknown pipeline, and nothing of the message is kept", async () => {
    await using world = aRunWorld();
    await expect(send(world, "Hello", { pipeline: "none" })).rejects.toMatchObject({
      code: "pipeline.not_found",
    });
    expect(await world.stores.runs.listOpen()).toEqual([]);
  });

  it("keeps the inline bytes of a message out of ledger and transcript", async () => {
    await using world = aRunWorld({ runner: new ScriptedRunner({ results: [message("Hi")] }) });
    const text = "Pretend that this is the content of an image.";
    const image = { ...aBase64File(text), kind: "image" as const, name: "a.png" };
    const id = await send(world, "See", { contents: [image] });
    await world.serve.wait(CALLER, id, CALL);
    const record = await world.record(id);
    const transcript = await world.transcriptOf(record.conversation);
    const stored = JSON.stringify([record, transcript, await world.eventsOf(id)]);
    expect(stored).not.toContain(Buffer.from(text).toString("base64").slice(0, 24));
    expect(transcript[0]?.message.content).toBe("See\n[attachment 0: a.png, image/png, 45 bytes]");
    expect(record.attachmentSources).toMatchObject([{ kind: "blob", sizeBytes: 45 }]);
  });

  it("gives a run of its own to each message without a key", async () => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    const ids = [await send(world, "One"), await send(world, "One")];
    expect(new Set(ids).size).toBe(2);
    await tick();
    held.release("One");
  });
});

describe("ServeRuns: one conversation at a time", () => {
  it("lets a message wait for the one before it, and answers it in the end", async () => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    const first = await world.serve.admit(aRequest({ text: "One" }), CALLER, CALL);
    const second = await world.serve.admit(aRequest({ text: "Two" }), CALLER, CALL);
    await tick();
    expect([first.queued, second.queued]).toEqual([false, true]);
    expect(held.begun).toEqual(["One"]);
    expect((await world.serve.get(CALLER, second.run.id)).status).toBe("queued");
    held.release("One");
    await tick();
    expect(held.begun).toEqual(["One", "Two"]);
    held.release("Two");
    expect((await world.serve.wait(CALLER, second.run.id, CALL)).message?.content).toBe("Answer to Two");
  });

  it("keeps the order of arrival, also of messages that come at the same moment", async () => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    const texts = ["One", "Two", "Three", "Four"];
    await Promise.all(texts.map((text) => send(world, text)));
    for (const text of texts) {
      await tick();
      held.release(text);
    }
    await tick();
    expect(held.begun).toEqual(texts);
  });

  it("lets other conversations, threads, pipelines and tenants run side by side", async () => {
    const { world, held } = aHeldWorld({ pipelines: [aPipeline(), aPipeline({ id: "second" })] });
    await using _closing = world;
    await send(world, "One");
    await send(world, "Two", { chat: aChat({ launcher_id: "43" }) });
    await send(world, "Three", { chat: aChat({ thread_id: "t" }) });
    await send(world, "Four", { pipeline: "second" });
    await world.serve.admit(aRequest({ text: "Five" }), OTHER, CALL);
    await tick();
    expect(held.begun).toEqual(["One", "Two", "Three", "Four", "Five"]);
  });

  it("starts the next run also after one that failed", async () => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    const first = await send(world, "One");
    await send(world, "Two");
    await tick();
    await world.serve.cancel(CALLER, first, CALL);
    await tick();
    expect(held.begun).toEqual(["One", "Two"]);
  });

  it("takes exactly 100 waiting messages, even if many come at once, and keeps nothing of the others", async () => {
    const { world } = aHeldWorld();
    await using _closing = world;
    const requests = Array.from({ length: 130 }, (_item, index) =>
      world.serve.admit(aRequest({ text: `${index}` }), CALLER, { signal: new AbortController().signal }),
    );
    const outcomes = await Promise.allSettled(requests);
    const refused = outcomes.flatMap((outcome): unknown[] =>
      outcome.status === "rejected" ? [outcome.reason] : [],
    );
    expect(refused).toHaveLength(29);
    expect(refused[0]).toMatchObject({ code: "run.queue_full" });
    expect(await world.stores.runs.listOpen()).toHaveLength(101);
  });

  it("refuses before it keeps the bytes of a message that has no place", async () => {
    const { world } = aHeldWorld();
    await using _closing = world;
    for (let i = 0; i <= 100; i += 1) await send(world, `${i}`);
    await expect(send(world, "more", { contents: [aBase64File("kept?")] })).rejects.toMatchObject({
      code: "run.queue_full",
    });
    const sha256 = createHash("sha256").update("kept?").digest("hex");
    expect(await world.stores.blobs.size(sha256)).toBeNull();
  });
});

describe("ServeRuns: idempotency keys", () => {
  it("makes one run and one delivery of a key that is posted five times at once", async () => {
    proves("FLOW-22");
    const runner = new ScriptedRunner({
      play: async function* (context) {
        await world.stores.files.register([aFile({ runId: context.run_id })]);
        yield { ...message("Hi"), run_id: context.run_id };
      },
    });
    await using world = aRunWorld({ runner });
    const posts = Array.from({ length: 5 }, () => send(world, "Hello", keyed("k1")));
    const ids = await Promise.all(posts);
    expect(new Set(ids).size).toBe(1);
    const answers = await Promise.all(ids.map((id) => world.serve.wait(CALLER, id, CALL)));
    expect(answers.map(({ deliveries }) => deliveries.map(({ id }) => id))).toEqual(
      Array.from({ length: 5 }, () => ["file_1"]),
    );
    expect(runner.contexts).toHaveLength(1);
    expect((await world.serve.list(CALLER, { limit: 10 })).runs).toHaveLength(1);
  });

  it("makes one run of a key, however long the request takes to be made into one", async () => {
    const { world } = aHeldWorld();
    await using _closing = world;
    const { blobs } = world.stores;
    const gate = new Gate();
    const stage = blobs.stage.bind(blobs);
    blobs.stage = async () => {
      await gate.opened;
      return stage();
    };
    const fields = { ...keyed("k1"), contents: [aBase64File("a,b")] };
    const posts = Array.from({ length: 5 }, () => send(world, "Hello", fields));
    await tick();
    gate.open();
    expect(new Set(await Promise.all(posts)).size).toBe(1);
    expect((await world.serve.list(CALLER, { limit: 10 })).runs).toHaveLength(1);
  });

  it("attaches to a run that is going on, which does not wait in a queue", async () => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    const first = await world.serve.admit(aRequest({ text: "One", ...keyed("k1") }), CALLER, CALL);
    const again = await world.serve.admit(aRequest({ text: "One", ...keyed("k1") }), CALLER, CALL);
    expect([again.run.id, again.queued]).toEqual([first.run.id, false]);
    const waiting = await world.serve.admit(aRequest({ text: "Two", ...keyed("k2") }), CALLER, CALL);
    const asked = await world.serve.admit(aRequest({ text: "Two", ...keyed("k2") }), CALLER, CALL);
    expect([asked.run.id, asked.queued]).toEqual([waiting.run.id, true]);
    await tick();
    held.release("One");
  });

  it("gives the answer of a run that has completed or was cancelled again", async () => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    const first = await send(world, "One", keyed("k1"));
    await tick();
    held.release("One");
    await world.serve.wait(CALLER, first, CALL);
    const second = await send(world, "Two", keyed("k2"));
    await tick();
    await world.serve.cancel(CALLER, second, CALL);
    expect(await send(world, "One", keyed("k1"))).toBe(first);
    expect(await send(world, "Two", keyed("k2"))).toBe(second);
    expect(held.begun).toEqual(["One", "Two"]);
  });

  it("refuses the key with another body", async () => {
    await using world = aRunWorld();
    await send(world, "One", keyed("k1"));
    await expect(send(world, "Two", keyed("k1", "b".repeat(64)))).rejects.toMatchObject({
      code: "idempotency.mismatch",
    });
  });

  it("keeps the keys of tenants apart", async () => {
    await using world = aRunWorld();
    const mine = await send(world, "One", keyed("k1"));
    const theirs = await world.serve.admit(aRequest(keyed("k1", "b".repeat(64))), OTHER, CALL);
    expect(theirs.run.id).not.toBe(mine);
  });

  it("makes a new attempt of a failed run, with its attachments and no second copy in the box", async () => {
    proves("FLOW-21");
    const ends = [failed("runner.llm_error"), message("Hi")];
    const runner = new ScriptedRunner({
      template: "{launcher_id}",
      play: async function* (context, host) {
        await host.bindBox(CALL);
        await host.importAttachments(CALL);
        yield { ...ends.shift(), run_id: context.run_id };
      },
    });
    await using world = aRunWorld({ runner, tools: nativeTools({ outputChars: 1000 }) });
    const fields = { ...keyed("k1"), contents: [aBase64File("a,b")] };
    const first = await send(world, "One", fields);
    expect((await world.serve.wait(CALLER, first, CALL)).status).toBe("failed");
    const second = await send(world, "One", fields);
    const run = await world.serve.wait(CALLER, second, CALL);
    const path = `/workspace/inbox/${first}/0/table.csv`;
    expect(run).toMatchObject({ status: "completed", attachments: [{ state: "imported", path }] });
    const [session] = await world.stores.sessions.listAll();
    const inbox = world.backend.tree(session?.volume ?? "").find(["inbox", second]);
    expect(inbox.ok && inbox.value.kind === "directory" && inbox.value.children.size).toBe(0);
    expect(await send(world, "One", fields)).toBe(second);
    expect(runner.contexts).toHaveLength(2);
  });

  it("takes the key again after its first request was refused", async () => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    for (let i = 0; i <= 100; i += 1) await send(world, `${i}`);
    await expect(send(world, "keyed", keyed("k1"))).rejects.toMatchObject({ code: "run.queue_full" });
    await tick();
    held.release("0");
    await tick();
    const id = await send(world, "keyed", keyed("k1"));
    expect((await world.serve.get(CALLER, id)).status).toBe("queued");
    expect(await send(world, "keyed", keyed("k1"))).toBe(id);
  });

  it("gives up the turn of a caller who has left", async () => {
    await using world = aRunWorld();
    const gone = AbortSignal.abort(new Error("gone"));
    const request = aRequest(keyed("k1"));
    await expect(world.serve.admit(request, CALLER, { signal: gone })).rejects.toThrow("gone");
    expect(await send(world, "Hello", keyed("k1"))).toMatch(/^run_/);
  });
});

describe("ServeRuns: cancel", () => {
  it("stops a run that is going on", async () => {
    const { world } = aHeldWorld();
    await using _closing = world;
    const id = await send(world, "One");
    await tick();
    expect(await world.serve.cancel(CALLER, id, CALL)).toMatchObject({
      status: "cancelled",
      error: { code: "cancelled" },
    });
  });

  it("takes a waiting run out of its line: it never starts, those behind it do", async () => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    await send(world, "One");
    const second = await send(world, "Two");
    await send(world, "Three");
    expect(await world.serve.cancel(CALLER, second, CALL)).toMatchObject({
      status: "cancelled",
      started_at: null,
    });
    held.release("One");
    await tick();
    expect(held.begun).toEqual(["One", "Three"]);
    expect(await readAll(await world.serve.follow(CALLER, { id: second, after: 0 }, CALL))).toEqual([
      "run.cancelled",
    ]);
  });

  it("answers two who cancel the same run alike", async () => {
    const { world } = aHeldWorld();
    await using _closing = world;
    await send(world, "One");
    const id = await send(world, "Two");
    const answers = await Promise.all([
      world.serve.cancel(CALLER, id, CALL),
      world.serve.cancel(CALLER, id, CALL),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
  });

  it("changes nothing of a run that has ended, and says how it ended", async () => {
    await using world = aRunWorld({ runner: new ScriptedRunner({ results: [message("Hi")] }) });
    const id = await send(world, "One");
    const run = await world.serve.wait(CALLER, id, CALL);
    await expect(world.serve.cancel(CALLER, id, CALL)).rejects.toMatchObject({
      code: "run.ended",
      details: { status: "completed" },
    });
    expect(await world.serve.get(CALLER, id)).toEqual(run);
  });
});

describe("ServeRuns: cancel at the last moment", () => {
  it("says that the run had ended where it came to its end by itself", async () => {
    const runner = new ScriptedRunner({
      play: async function* (context) {
        try {
          yield { type: "run.completed", data: {}, run_id: context.run_id };
        } finally {
          const cancel = world.serve.cancel(CALLER, context.run_id, CALL);
          cancelling.push(cancel.catch((error: unknown) => error));
        }
      },
    });
    const cancelling: Promise<unknown>[] = [];
    await using world = aRunWorld({ runner });
    const id = await send(world, "One");
    await world.serve.wait(CALLER, id, CALL);
    expect(await Promise.all(cancelling)).toMatchObject([
      { code: "run.ended", details: { status: "completed" } },
    ]);
  });
});

describe("ServeRuns: a client that leaves", () => {
  it.each([
    ["continue", "running"],
    ["cancel", "cancelled"],
  ] as const)("with on_disconnect %s leaves its run %s", async (onDisconnect, status) => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    const id = await send(world, "One", { onDisconnect });
    await tick();
    world.serve.clientGone(id);
    await tick();
    expect((await world.serve.get(CALLER, id)).status).toBe(status);
    if (status === "running") held.release("One");
  });

  it("takes its waiting run out of the line where it asked for that", async () => {
    const { world } = aHeldWorld();
    await using _closing = world;
    await send(world, "One");
    const id = await send(world, "Two", { onDisconnect: "cancel" });
    world.serve.clientGone(id);
    await tick();
    expect((await world.serve.get(CALLER, id)).status).toBe("cancelled");
  });

  it("changes nothing for a run that has ended or never was", async () => {
    await using world = aRunWorld({ runner: new ScriptedRunner({ results: [message("Hi")] }) });
    const id = await send(world, "One", { onDisconnect: "cancel" });
    await world.serve.wait(CALLER, id, CALL);
    world.serve.clientGone(id);
    world.serve.clientGone("run_none");
    await tick();
    expect((await world.serve.get(CALLER, id)).status).toBe("completed");
  });

  it("ends its waiting only: the run goes on", async () => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    const id = await send(world, "One");
    const controller = new AbortController();
    const waiting = world.serve.wait(CALLER, id, { signal: controller.signal });
    await tick();
    controller.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    held.release("One");
    expect((await world.serve.wait(CALLER, id, CALL)).status).toBe("completed");
  });
});

describe("ServeRuns: retry", () => {
  it("runs a failed run again as a new one, with the same input and attachments", async () => {
    await using world = aRunWorld({ runner: new ScriptedRunner({ results: [failed("runner.llm_error")] }) });
    const id = await send(world, "One", { contents: [aBase64File("a,b")], variables: { lang: "en" } });
    await world.serve.wait(CALLER, id, CALL);
    const { run } = await world.serve.retry(CALLER, id, CALL);
    expect(run).toMatchObject({ status: "queued", error: null, attachments: [{ name: "table.csv" }] });
    const [first, second] = [await world.record(id), await world.record(run.id)];
    expect(second).toMatchObject({
      retryOf: id,
      input: first.input,
      params: { lang: "en" },
      attachmentSources: first.attachmentSources,
      conversation: first.conversation,
    });
    expect((await world.serve.wait(CALLER, run.id, CALL)).status).toBe("failed");
  });

  it.each(["queued", "running", "completed", "cancelled"] as const)(
    "refuses a run that is %s",
    async (state) => {
      await using world = aRunWorld();
      await world.stores.runs.create(aRun({ state }));
      await expect(world.serve.retry(CALLER, "run_1", CALL)).rejects.toMatchObject({
        code: "run.not_retryable",
        message: `Only failed and timed-out runs can be repeated; this one is ${state}.`,
      });
    },
  );

  it("repeats a run that timed out", async () => {
    await using world = aRunWorld();
    await world.stores.runs.create(aRun({ id: "run_old", state: "timeout" }));
    expect((await world.serve.retry(CALLER, "run_old", CALL)).run.status).toBe("queued");
  });
});

describe("ServeRuns: acknowledgement", () => {
  it("fails a run at its end where the report came before it", async () => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    const id = await send(world, "One");
    await tick();
    await world.stores.files.register([aFile({ runId: id })]);
    await world.serve.acknowledge(CALLER, { run: id, file: "file_1" }, { state: "failed", detail: null });
    held.release("One");
    expect(await world.serve.wait(CALLER, id, CALL)).toMatchObject({
      status: "failed",
      error: { code: "delivery.failed" },
      message: { content: "Answer to One" },
    });
  });
});

describe("ServeRuns: look-up", () => {
  it.each<[string, (world: RunWorld) => Promise<unknown>]>([
    ["get", (world) => world.serve.get(OTHER, "run_1")],
    ["wait", (world) => world.serve.wait(OTHER, "run_1", CALL)],
    ["follow", async (world) => readAll(await world.serve.follow(OTHER, { id: "run_1", after: 0 }, CALL))],
    ["cancel", (world) => world.serve.cancel(OTHER, "run_1", CALL)],
    ["retry", (world) => world.serve.retry(OTHER, "run_1", CALL)],
    [
      "acknowledge",
      (world) =>
        world.serve.acknowledge(OTHER, { run: "run_1", file: "file_1" }, { state: "sent", detail: null }),
    ],
  ])("does not know the runs of another tenant: %s", async (_what, act) => {
    await using world = aRunWorld();
    await world.stores.runs.create(aRun({ state: "failed" }));
    await expect(act(world)).rejects.toMatchObject({
      code: "run.not_found",
      message: 'There is no run "run_1".',
    });
  });

  it("lists newest first, by pages, and says whether there are more", async () => {
    await using world = aRunWorld();
    for (let i = 1; i <= 5; i += 1)
      await world.stores.runs.create(aRun({ id: `run_${i}`, state: "completed" }));
    const first = await world.serve.list(CALLER, { limit: 2 });
    expect([first.runs.map(({ id }) => id), first.hasMore]).toEqual([["run_5", "run_4"], true]);
    const last = await world.serve.list(CALLER, { limit: 3, after: "run_4" });
    expect([last.runs.map(({ id }) => id), last.hasMore]).toEqual([["run_3", "run_2", "run_1"], false]);
    expect((await world.serve.list(OTHER, { limit: 2 })).runs).toEqual([]);
  });

  it("finds every ledger state under the status that clients see", async () => {
    await using world = aRunWorld();
    const states = [
      "created",
      "queued",
      "claimed",
      "running",
      "completed",
      "failed",
      "cancelled",
      "timeout",
    ] as const;
    for (const state of states) await world.stores.runs.create(aRun({ id: `run_${state}`, state }));
    const found = async (status: "queued" | "running" | "failed"): Promise<string[]> =>
      (await world.serve.list(CALLER, { status, limit: 10 })).runs.map(({ id }) => id);
    expect(await found("queued")).toEqual(["run_claimed", "run_queued", "run_created"]);
    expect(await found("running")).toEqual(["run_running"]);
    expect(await found("failed")).toEqual(["run_failed"]);
  });

  it("filters by chat and session", async () => {
    await using world = aRunWorld();
    await world.stores.runs.create(aRun({ session: { id: "ses_1", key: "k" } }));
    await world.stores.runs.create(aRun({ id: "run_2", chat: aChat({ launcher_id: "43" }) }));
    const byChat = await world.serve.list(CALLER, { chat: "person:43", limit: 10 });
    const bySession = await world.serve.list(CALLER, { session: "ses_1", limit: 10 });
    expect([byChat.runs[0]?.id, bySession.runs[0]?.id]).toEqual(["run_2", "run_1"]);
    expect([byChat.runs.length, bySession.runs.length]).toEqual([1, 1]);
  });
});

describe("ServeRuns: start and stop", () => {
  it("continues what was queued and ends what was executing, of the process before", async () => {
    const stores = openMemoryStores({ clock: new FakeClock() });
    await stores.runs.create(aRun({ state: "running" }));
    await stores.runs.create(aRun({ id: "run_2", input: { text: "Two", contents: [], attachments: [] } }));
    await stores.runs.create(aRun({ id: "run_3", input: { text: "Three", contents: [], attachments: [] } }));
    const { world, held } = aHeldWorld({ stores });
    await using _closing = world;
    await world.serve.start();
    await tick();
    expect((await world.record("run_1")).error?.code).toBe("run.interrupted");
    expect(held.begun).toEqual(["Two"]);
    held.release("Two");
    await tick();
    held.release("Three");
    expect((await world.serve.wait(CALLER, "run_3", CALL)).status).toBe("completed");
  });

  it("refuses new runs while it stops, and lets running ones end within the grace", async () => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    const id = await send(world, "One");
    await tick();
    const stopping = world.serve.stop(60_000);
    await expect(send(world, "Two")).rejects.toMatchObject({ code: "service.stopping", retryable: true });
    await expect(world.serve.retry(CALLER, id, CALL)).rejects.toMatchObject({ code: "service.stopping" });
    held.release("One");
    await stopping;
    expect((await world.record(id)).state).toBe("completed");
  });

  it("interrupts what does not end within the grace, retryable", async () => {
    const { world } = aHeldWorld();
    await using _closing = world;
    const id = await send(world, "One");
    await tick();
    await world.serve.stop(5);
    expect(await world.record(id)).toMatchObject({
      state: "failed",
      error: { code: "run.interrupted", retryable: true },
    });
  });

  it("leaves waiting runs in the ledger, and the next process answers them", async () => {
    const { world, held } = aHeldWorld();
    await send(world, "One");
    const waiting = await send(world, "Two");
    await tick();
    await world[Symbol.asyncDispose]();
    expect(held.begun).toEqual(["One"]);
    expect((await world.record(waiting)).state).toBe("queued");
    const next = aHeldWorld({ stores: world.stores });
    await using later = next.world;
    await later.serve.start();
    await tick();
    next.held.release("Two");
    expect((await later.serve.wait(CALLER, waiting, CALL)).message?.content).toBe("Answer to Two");
  });

  it("goes on with the conversation where the end of a run could not be written, and says so", async () => {
    class FailingRunStore extends MemoryRunStore {
      failures = 1;
      override async finish(...of: Parameters<MemoryRunStore["finish"]>): Promise<RunEvent | null> {
        this.failures -= 1;
        if (this.failures >= 0) throw new Error("disk full");
        return super.finish(...of);
      }
    }
    const stores = { ...openMemoryStores({ clock: new FakeClock() }), runs: new FailingRunStore() };
    const { world, held } = aHeldWorld({ stores });
    await using _closing = world;
    const first = await send(world, "One");
    const second = await send(world, "Two");
    await tick();
    held.release("One");
    await tick();
    held.release("Two");
    expect((await world.serve.wait(CALLER, second, CALL)).status).toBe("completed");
    expect((await world.record(first)).state).toBe("running");
    expect(world.logger.lines.find(({ level }) => level === "error")).toMatchObject({
      fields: { runId: first, code: "internal" },
      message: "The end of a run could not be written.",
    });
    await world.serve.endLost();
    expect(await world.record(first)).toMatchObject({ state: "failed", error: { code: "run.interrupted" } });
  });
});

describe("ServeRuns: streams", () => {
  it("replays and follows a run until its one terminal event", async () => {
    const { world, held } = aHeldWorld();
    await using _closing = world;
    const id = await send(world, "One");
    const live = readAll(await world.serve.follow(CALLER, { id: id, after: 0 }, CALL));
    await tick();
    held.release("One");
    const types = ["run.started", "message.completed", "run.completed"];
    expect(await live).toEqual(types);
    expect(await readAll(await world.serve.follow(CALLER, { id: id, after: 0 }, CALL))).toEqual(types);
    expect(await readAll(await world.serve.follow(CALLER, { id: id, after: 1 }, CALL))).toEqual(
      types.slice(1),
    );
  });
});

describe("ServeRuns: any order of things", () => {
  const step = fc.oneof(
    fc.record({ act: fc.constant("send" as const), chat: fc.nat(2) }),
    fc.record({ act: fc.constant("cancel" as const), pick: fc.nat(30) }),
    fc.record({ act: fc.constant("wait" as const) }),
  );
  const patience = fc.array(fc.nat(3), { minLength: 30, maxLength: 30 });

  it("brings every accepted message to exactly one end, one at a time in each conversation", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), patience, async (steps, ticks) => {
        let mostAtOnce = 0;
        const runner = new ScriptedRunner({
          play: async function* (context) {
            const { conversation } = await world.record(context.run_id);
            const open = await world.stores.runs.listOpen();
            const running = open.filter(
              (run) => run.state === "running" && run.conversation === conversation,
            );
            mostAtOnce = Math.max(mostAtOnce, running.length);
            const patienceOf = ticks[runner.contexts.length % ticks.length] ?? 0;
            for (let i = 0; i < patienceOf; i += 1) await tick();
            yield { ...message("Hi"), run_id: context.run_id };
          },
        });
        await using world = aRunWorld({ runner });
        const ids: RunId[] = [];
        const cancels: Promise<string>[] = [];
        for (const { act, ...of } of steps) {
          const chat = aChat({ launcher_id: "chat" in of ? `${of.chat}` : "0" });
          if (act === "send") ids.push(await send(world, "Hi", { chat }));
          else if (act === "wait") await tick();
          else if ("pick" in of && ids.length > 0) {
            const id = ids[of.pick % ids.length] ?? "run_none";
            const cancel = world.serve.cancel(CALLER, id, { signal: new AbortController().signal });
            cancels.push(
              cancel.then(
                ({ status }) => status,
                (error: unknown) => toServiceError(error).code,
              ),
            );
          }
        }
        const answers = new Set(await Promise.all(cancels));
        expect([...answers].filter((answer) => answer !== "cancelled")).toEqual(
          answers.has("run.ended") ? ["run.ended"] : [],
        );
        for (const id of ids) {
          await world.serve.wait(CALLER, id, { signal: new AbortController().signal });
          const events = await world.eventsOf(id);
          const ends = events.filter(({ type }) => TERMINAL_EVENTS.includes(type));
          expect(ends.map(({ sequence }) => sequence)).toEqual([events.length]);
          expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, index) => index + 1));
        }
        expect(mostAtOnce).toBeLessThanOrEqual(1);
        expect(world.active.size).toBe(0);
        expect(await world.stores.runs.listOpen()).toEqual([]);
      }),
      { numRuns: 60 },
    );
  }, 20_000);
});
