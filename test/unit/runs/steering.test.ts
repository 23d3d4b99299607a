import { describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { CALLER } from "../../support/builders.js";
import { proves } from "../../support/proves.js";
import { aRun } from "../../support/records.js";
import { admit, aSetting, CALL, history, OTHER, pull, tick } from "../../support/steerable-runs.js";

describe("steering", () => {
  it("answers a message to a busy chat with the run that absorbs it", async () => {
    await using setting = aSetting();
    const first = await admit(setting, "One");
    const second = await admit(setting, "Two");
    const steered = { object: "run", status: "steered", absorbed_by: first.id };
    expect(second).toMatchObject({ ...steered, place: "waiting", text: "Two" });
    expect(await pull(setting, "One")).toEqual(["Two"]);
    expect(await setting.world.serve.get(CALLER, second.id)).toMatchObject({ place: "history" });
    expect(await history(setting, first.id)).toEqual(["One", "Two"]);
    const injected = (await setting.world.eventsOf(first.id)).filter(
      ({ type }) => type === "steering.injected",
    );
    expect(injected).toMatchObject([{ data: { message_id: second.id, text: "Two" } }]);
    setting.release("One");
    await setting.world.serve.wait(CALLER, first.id, CALL);
    expect(await history(setting, first.id)).toEqual(["One", "Two", "Answer to One"]);
  });

  it("leads whoever follows a message that waits, or is absorbed, to the run that answers it", async () => {
    await using setting = aSetting();
    const first = await admit(setting, "One");
    const second = await admit(setting, "Two");
    const follow = () => setting.world.serve.follow(CALLER, { id: second.id, after: 0 }, CALL);
    const led = { code: "run.not_found", hint: `The run ${first.id} answers for this message.` };
    await expect(follow()).rejects.toMatchObject(led);
    await pull(setting, "One");
    await expect(follow()).rejects.toMatchObject(led);
  });

  it("gives one message at a time, or all, in order", async () => {
    await using setting = aSetting();
    await admit(setting, "One");
    for (const text of ["a", "b", "c"]) await admit(setting, text);
    expect(await pull(setting, "One", "one-at-a-time")).toEqual(["a"]);
    expect(await pull(setting, "One")).toEqual(["b", "c"]);
    expect(await pull(setting, "One")).toEqual([]);
  });

  it("puts the reply that the messages follow into the history before them", async () => {
    await using setting = aSetting();
    const first = await admit(setting, "One");
    await admit(setting, "Two");
    const after = { role: "assistant" as const, content: "So far." };
    await setting.hosts.get("One")?.pullSteering({ mode: "all", after }, CALL);
    await setting.hosts.get("One")?.pullSteering({ mode: "all", after }, CALL);
    setting.release("One");
    const run = await setting.world.serve.wait(CALLER, first.id, CALL);
    expect(await history(setting, first.id)).toEqual(["One", "So far.", "Two", "Answer to One"]);
    expect(run.message?.content).toBe("So far.\n\nAnswer to One");
  });

  it("queues as a run of its own what does not fit into the queue of 100", async () => {
    proves("STATE-09");
    await using setting = aSetting();
    await admit(setting, "One");
    for (let i = 0; i < 100; i += 1)
      expect((await admit(setting, `${i}`)).status, `message ${i}`).toBe("steered");
    const extra = await admit(setting, "extra");
    expect(extra.status).toBe("queued");
    expect(await pull(setting, "One")).toHaveLength(100);
    setting.release("One");
    await tick();
    setting.release("extra");
    expect(await setting.world.serve.wait(CALLER, extra.id, CALL)).toMatchObject({
      status: "completed",
      message: { content: "Answer to extra" },
    });
  });

  it("gives messages that were not taken runs of their own, in order, before those that came later", async () => {
    proves("STATE-11");
    await using setting = aSetting();
    const { serve, stores } = setting.world;
    const first = await admit(setting, "One");
    const left = [await admit(setting, "Two"), await admit(setting, "Three")];
    setting.release("One");
    await tick();
    expect([...setting.hosts.keys()]).toEqual(["One", "Two"]);
    expect((await serve.get(CALLER, left[0]?.id ?? "run_none")).status).toBe("running");
    setting.release("Two");
    await tick();
    setting.release("Three");
    for (const { id, text } of left.flatMap((run) => (run.status === "steered" ? [run] : [])))
      expect((await serve.wait(CALLER, id, CALL)).message?.content).toBe(`Answer to ${text}`);
    const audit = await stores.steering.listAudit("main", first.id);
    expect(audit.map(({ type, subject }) => [type, subject])).toEqual([
      ["steering.queued", left[0]?.id],
      ["steering.queued", left[1]?.id],
      ["steering.requeued", left[0]?.id],
      ["steering.requeued", left[1]?.id],
    ]);

    await using gone = aSetting({ hasChat: ({ tenant }) => tenant !== "main" });
    const absorbing = await admit(gone, "One");
    const lost = await admit(gone, "Two");
    gone.release("One");
    await gone.world.serve.wait(CALLER, absorbing.id, CALL);
    expect(await gone.world.serve.get(CALLER, lost.id)).toMatchObject({
      status: "steered",
      place: "dropped",
    });
    const dropped = await gone.world.stores.steering.listAudit("main", absorbing.id);
    expect(dropped.map(({ type }) => type)).toEqual(["steering.queued", "steering.dropped"]);
  });

  it.each(["failed", "timeout"] as const)("does so as well when the run ends as %s", async (end) => {
    await using setting = aSetting(end === "timeout" ? { deadlineSec: 0.05 } : {});
    const first = await admit(setting, "One");
    const second = await admit(setting, "Two");
    if (end === "failed") await setting.world.serve.stop(1);
    expect((await setting.world.serve.wait(CALLER, first.id, CALL)).status).toBe(end);
    await tick();
    expect((await setting.world.record(second.id)).state).toBe(end === "timeout" ? "running" : "queued");
  });

  it("queues files, what needs another box, and what comes behind a message that waits", async () => {
    await using setting = aSetting();
    await admit(setting, "One");
    const source = { kind: "base64" as const, data: "AA==" };
    const file = { type: "attachment", kind: "file", name: "a.bin", mimeType: null, source } as const;
    expect((await admit(setting, "Two", { contents: [file] })).status).toBe("queued");
    expect((await admit(setting, "Three")).status).toBe("queued");
  });

  it("queues messages for a runner that cannot be steered, and refuses its pulls", async () => {
    await using setting = aSetting({}, false);
    await admit(setting, "One");
    expect((await admit(setting, "Two")).status).toBe("queued");
    await expect(setting.hosts.get("One")?.pullSteering({ mode: "all" }, CALL)).rejects.toMatchObject({
      code: "host.unauthorized",
    });
  });

  it("gives the same answer to the same key, and follows the message when it becomes a run", async () => {
    await using setting = aSetting();
    await admit(setting, "One");
    const idempotency = { key: "k", bodyHash: "a".repeat(64) };
    const second = await admit(setting, "Two", { idempotency });
    expect(await admit(setting, "Two", { idempotency })).toEqual(second);
    await pull(setting, "One", "one-at-a-time");
    expect(await admit(setting, "Two", { idempotency })).toEqual({ ...second, place: "history" });
    const other = { idempotency: { key: "k2", bodyHash: "b".repeat(64) } };
    const third = await admit(setting, "Three", other);
    setting.release("One");
    await tick();
    expect(await admit(setting, "Three", other)).toMatchObject({ id: third.id, status: "running" });
    await expect(
      admit(setting, "Two", { idempotency: { key: "k", bodyHash: "c".repeat(64) } }),
    ).rejects.toMatchObject({ code: "idempotency.mismatch" });
  });

  it("finds steered messages in the ledger after the process that held them has died", async () => {
    const stores = openMemoryStores({ clock: new FakeClock() });
    const dead = aSetting({ stores, worker: "dead" });
    const first = await admit(dead, "One");
    const second = await admit(dead, "Two");
    const third = await admit(dead, "Three");
    await using later = aSetting({ stores, worker: "later" });
    await later.world.serve.start();
    await tick();
    expect((await later.world.record(first.id)).error?.code).toBe("run.interrupted");
    later.release("Two");
    expect((await later.world.serve.wait(CALLER, second.id, CALL)).message?.content).toBe("Answer to Two");
    await tick();
    later.release("Three");
    expect((await later.world.serve.wait(CALLER, third.id, CALL)).status).toBe("completed");
    await dead[Symbol.asyncDispose]();
  });
});

describe("POST steer", () => {
  it("sends a text to the run, whatever chat it came from", async () => {
    await using setting = aSetting();
    const { serve } = setting.world;
    const first = await admit(setting, "One");
    const steered = await serve.steer(CALLER, { id: first.id, text: "Blue, please." }, CALL);
    expect(steered).toMatchObject({ status: "steered", absorbed_by: first.id, text: "Blue, please." });
    expect(await serve.listSteering(CALLER, first.id)).toEqual([steered]);
    expect(await pull(setting, "One")).toEqual(["Blue, please."]);
  });

  it("queues the text where the run cannot take it in", async () => {
    await using setting = aSetting({}, false);
    const first = await admit(setting, "One");
    expect(await setting.world.serve.steer(CALLER, { id: first.id, text: "Two" }, CALL)).toMatchObject({
      status: "queued",
    });
  });

  it("refuses a run that has ended, and one of another tenant", async () => {
    await using setting = aSetting();
    const { serve, stores } = setting.world;
    await stores.runs.create(aRun({ state: "completed" }));
    await expect(serve.steer(CALLER, { id: "run_1", text: "Hi" }, CALL)).rejects.toMatchObject({
      code: "run.ended",
    });
    await expect(serve.steer(OTHER, { id: "run_1", text: "Hi" }, CALL)).rejects.toMatchObject({
      code: "run.not_found",
    });
    await expect(serve.listSteering(OTHER, "run_1")).rejects.toMatchObject({ code: "run.not_found" });
  });

  it("is no run that could be followed, and says which one answers", async () => {
    await using setting = aSetting();
    const first = await admit(setting, "One");
    const second = await admit(setting, "Two");
    await expect(setting.world.serve.wait(CALLER, second.id, CALL)).rejects.toMatchObject({
      code: "run.not_found",
      hint: `The run ${first.id} answers for this message.`,
    });
    await expect(setting.world.serve.get(OTHER, second.id)).rejects.toMatchObject({ code: "run.not_found" });
  });
});
