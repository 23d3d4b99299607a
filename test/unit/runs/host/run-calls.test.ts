import { describe, expect, it } from "vitest";
import type { RunHost } from "../../../../src/ports/run-host.js";
import { createRunHost } from "../../../../src/runs/host/create-run-host.js";
import { planRun } from "../../../../src/runs/plan-run.js";
import { RunRecorder } from "../../../../src/runs/record-run.js";
import { Gate } from "../../../fakes/gate.js";
import { completed, ScriptedRunner } from "../../../fakes/scripted-runner.js";
import { aPipeline, aPolicy, aRequest, CALLER } from "../../../support/builders.js";
import { proves } from "../../../support/proves.js";
import { anOutcome, aRun } from "../../../support/records.js";
import { aRunWorld, NEVER, type RunWorld } from "../../../support/run-world.js";

const CALL = { signal: NEVER };
const STARTED = { type: "run.started" as const, data: {}, timestamp: "2026-01-01T00:00:00.000Z" };
const NOTE = { type: "warning", data: { code: "audit", message: "The key canary-secret was seen." } };

interface Setting extends AsyncDisposable {
  readonly world: RunWorld;
  readonly host: RunHost;
  /** Ends the asking run. */
  leave(): Promise<unknown>;
}

/** The host of `run_1`, among runs of its own and of other conversations, runners and tenants. */
async function aSetting({ administrator = false } = {}): Promise<Setting> {
  const pipelines = [aPipeline({ policy: aPolicy({ administrator }) })];
  const world = aRunWorld({ pipelines, secrets: ["canary-secret"] });
  const run = aRun();
  for (const record of [
    aRun({ id: "run_0" }),
    run,
    aRun({ id: "run_chat", conversation: "conversation-2" }),
    aRun({ id: "run_runner", runner: "plugin:other/agent/default" }),
    aRun({ id: "run_tenant", tenant: "other" }),
  ])
    await world.stores.runs.create(record);
  await world.stores.runs.appendEvent("run_0", STARTED);
  const plan = await planRun(world.plan, { tenant: "main", botId: null, pipeline: null }, CALL);
  const deps = { ...world.host, ...world.stores };
  const recorder = new RunRecorder(deps, run);
  const host = createRunHost(world.host, {
    run,
    plan,
    prompt: [],
    recorder,
    signal: new AbortController().signal,
  });
  return {
    world,
    host: host.api,
    leave: () => host.leave(),
    [Symbol.asyncDispose]: async () => {
      await host.leave();
      await world[Symbol.asyncDispose]();
    },
  };
}

const CALLS: readonly [string, (host: RunHost, id: `run_${string}`) => Promise<unknown>][] = [
  ["run_get", ({ runs }, id) => runs.get(id, CALL)],
  ["run_events_page", ({ runs }, runId) => runs.eventsPage({ runId }, CALL)],
  ["run_cancel", ({ runs }, id) => runs.cancel(id, CALL)],
];

describe("RunCalls", () => {
  it("shows runs of the own runner and conversation, newest first", async () => {
    await using setting = await aSetting();
    const { runs } = setting.host;
    expect(await runs.get("run_0", CALL)).toMatchObject({ id: "run_0", object: "run", status: "queued" });
    expect(await runs.list({}, CALL)).toMatchObject({
      items: [{ id: "run_1" }, { id: "run_0" }],
      next_cursor: "run_0",
      prev_cursor: "run_1",
      has_more: false,
    });
    const first = await runs.list({ limit: 1 }, CALL);
    expect(first).toMatchObject({ items: [{ id: "run_1" }], has_more: true });
    const rest = await runs.list({ limit: 1, cursor: "run_1", status: "queued" }, CALL);
    expect(rest).toMatchObject({ items: [{ id: "run_0" }], has_more: false });
    expect((await runs.list({ status: "failed" }, CALL)).items).toEqual([]);
  });

  it("pages through the events of a run, oldest first", async () => {
    await using setting = await aSetting();
    for (let i = 0; i < 3; i += 1) await setting.world.stores.runs.appendEvent("run_0", STARTED);
    const { runs } = setting.host;
    const first = await runs.eventsPage({ runId: "run_0", limit: 3 }, CALL);
    expect(first.items.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(first).toMatchObject({ next_cursor: "3", has_more: true });
    const rest = await runs.eventsPage({ runId: "run_0", cursor: "3" }, CALL);
    expect(rest).toMatchObject({ items: [{ sequence: 4 }], has_more: false });
  });

  it.each(CALLS)(
    "refuses %s of another conversation and runner, and knows none of other tenants",
    async (action, call) => {
      await using setting = await aSetting();
      for (const id of ["run_chat", "run_runner"] as const)
        await expect(call(setting.host, id)).rejects.toMatchObject({
          code: "host.unauthorized",
          message: `This run is not authorized for ${action} of another runner or conversation.`,
        });
      for (const id of ["run_tenant", "run_none"] as const)
        await expect(call(setting.host, id)).rejects.toMatchObject({ code: "host.not_found" });
    },
  );

  it("shows every run of the tenant to an administrator", async () => {
    await using setting = await aSetting({ administrator: true });
    const { runs } = setting.host;
    expect((await runs.list({}, CALL)).items.map(({ id }) => id)).toEqual([
      "run_runner",
      "run_chat",
      "run_1",
      "run_0",
    ]);
    expect(await runs.get("run_chat", CALL)).toMatchObject({ id: "run_chat" });
    await expect(runs.get("run_tenant", CALL)).rejects.toMatchObject({ code: "host.not_found" });
  });

  it("answers under what was authorised also after the run has ended, when nothing else does", async () => {
    await using setting = await aSetting();
    await setting.leave();
    expect(await setting.host.runs.get("run_0", CALL)).toMatchObject({ id: "run_0" });
    await expect(setting.host.runs.get("run_chat", CALL)).rejects.toMatchObject({
      code: "host.unauthorized",
    });
    await expect(setting.host.historyPage({ direction: "backward" }, CALL)).rejects.toMatchObject({
      code: "host.not_found",
    });
  });

  it("says of a run that has ended what became of it, and does not cancel it", async () => {
    await using setting = await aSetting();
    const { world } = setting;
    await world.stores.runs.finish("run_0", anOutcome(), () => ({ ...STARTED, type: "run.completed" }));
    await expect(setting.host.runs.cancel("run_0", CALL)).rejects.toMatchObject({
      code: "run.ended",
      details: { status: "completed" },
    });
  });

  it("cancels a run that waits behind the asking one, and the asking one itself", async () => {
    const seen: unknown[] = [];
    const runner = new ScriptedRunner({
      play: async function* (context, { runs }, options) {
        if (context.input.text === "first") {
          await behind.opened;
          const waiting = await runs.list({ status: "queued" }, options);
          for (const { id } of waiting.items) seen.push((await runs.cancel(id, options)).status);
        } else await runs.cancel(context.run_id, options);
        yield { ...completed(), run_id: context.run_id };
      },
    });
    await using world = aRunWorld({ runner });
    const behind = new Gate();
    const admit = async (text: string) => (await world.serve.admit(aRequest({ text }), CALLER, CALL)).run.id;
    const first = await admit("first");
    const second = await admit("second");
    behind.open();
    expect((await world.serve.wait(CALLER, second, CALL)).status).toBe("cancelled");
    expect((await world.serve.wait(CALLER, first, CALL)).status).toBe("completed");
    expect(seen).toEqual(["cancelled"]);
    const own = await admit("own");
    expect((await world.serve.wait(CALLER, own, CALL)).status).toBe("cancelled");
  });
});

describe("RunCalls: append_result", () => {
  it("refuses messages, state and unknown types, and whoever is no administrator", async () => {
    proves("STATE-08");
    await using setting = await aSetting({ administrator: true });
    const { runs } = setting.host;
    const before = await setting.world.eventsOf("run_0");
    for (const result of [
      { type: "message.completed", data: { message: { role: "assistant", content: "Hi" } } },
      { type: "message.delta", data: { chunk: { role: "assistant", content: "H" } } },
      { type: "state.updated", data: { scope: "runner", key: "k", value: 1 } },
      { type: "run.completed", data: {} },
      { type: "foo.bar", data: {} },
    ])
      await expect(runs.appendResult("run_0", result, CALL)).rejects.toMatchObject({
        code: "host.invalid_argument",
      });
    await using plain = await aSetting();
    await expect(plain.host.runs.appendResult("run_0", NOTE, CALL)).rejects.toMatchObject({
      code: "host.unauthorized",
    });
    expect(await setting.world.eventsOf("run_0")).toEqual(before);
    expect(await setting.world.transcriptOf("conversation-1")).toEqual([]);
  });

  it("adds to the events of a run that goes on, without secrets, and wakes its readers", async () => {
    await using setting = await aSetting({ administrator: true });
    const { runs } = setting.host;
    const waiting = setting.world.host.events.waitBeyond("run_chat", 0, CALL);
    const event = await runs.appendResult("run_chat", NOTE, CALL);
    await waiting;
    expect(event).toMatchObject({
      type: "warning",
      run_id: "run_chat",
      sequence: 1,
      data: { code: "audit", message: "The key [redacted] was seen." },
    });
    expect(await setting.world.eventsOf("run_chat")).toEqual([event]);
  });

  it("adds nothing to a run that has ended, and to none that is not there", async () => {
    await using setting = await aSetting({ administrator: true });
    const { world, host } = setting;
    await world.stores.runs.finish("run_0", anOutcome(), () => ({ ...STARTED, type: "run.completed" }));
    await expect(host.runs.appendResult("run_0", NOTE, CALL)).rejects.toMatchObject({ code: "run.ended" });
    await expect(host.runs.appendResult("run_tenant", NOTE, CALL)).rejects.toMatchObject({
      code: "host.not_found",
    });
  });
});
