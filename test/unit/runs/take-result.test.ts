import { describe, expect, it } from "vitest";
import {
  completed,
  delta,
  message,
  type ScriptedResult,
  ScriptedRunner,
} from "../../fakes/scripted-runner.js";
import { aChat, aDescriptor, aPipeline } from "../../support/builders.js";
import { proves } from "../../support/proves.js";
import { aRun } from "../../support/records.js";
import { aRunWorld, type RunWorld, type WorldOptions } from "../../support/run-world.js";
import { textLike } from "../../support/text-like.js";

const SECRET = "sk-1234567890";

function updated(data: object): ScriptedResult {
  return { type: "state.updated", data };
}

function yielding(results: readonly ScriptedResult[], options: WorldOptions = {}): RunWorld {
  return aRunWorld({ ...options, runner: new ScriptedRunner({ results }) });
}

/** What a later run of the same chat finds in its context. */
async function stateOfNext(world: RunWorld): Promise<unknown> {
  const runner = new ScriptedRunner();
  await using next = aRunWorld({ stores: world.stores, runner });
  await next.execute(aRun({ id: "run_2" }));
  return runner.contexts[0]?.state;
}

describe("takeResult: state", () => {
  it("stores a valid update, drops an invalid one, and keeps both out of the reply", async () => {
    proves("FLOW-06");
    await using world = yielding([
      delta("Hel"),
      updated({ scope: "conversation", key: "mood", value: { is: "good" } }),
      updated({ scope: "conversation", key: "mood" }),
      updated({ scope: "nowhere", key: "mood", value: "bad" }),
      message("Hello"),
      completed(),
    ]);
    const run = await world.execute(aRun());
    expect(run.message).toEqual({ content: "Hello", partial: false });
    const events = await world.eventsOf("run_1");
    expect(events.map(({ type }) => type)).toEqual([
      "run.started",
      "message.delta",
      "state.updated",
      "warning",
      "warning",
      "message.completed",
      "run.completed",
    ]);
    expect(events[2]?.data).toEqual({ scope: "conversation", key: "mood", value: { is: "good" } });
    expect(run.warnings.map(({ code }) => code)).toEqual(["result.invalid", "state.refused"]);
    expect(await world.transcriptOf("conversation-1")).toHaveLength(2);
    expect(await stateOfNext(world)).toMatchObject({ conversation: { mood: { is: "good" } } });
  });

  it.each([
    ["a scope that is not enabled", { scope: "conversation", key: "a", value: 1 }, /not authorized/],
    ["a scope the run has no identity for", { scope: "actor", key: "a", value: 1 }, /unavailable/],
    ["a value above the limit", { scope: "runner", key: "a", value: "x".repeat(262_143) }, /limit is 262144/],
    ["an empty key", { scope: "runner", key: "", value: 1 }, /not empty/],
  ])("drops an update of %s with a warning that says why", async (_case, data, why) => {
    const state = { enable_state: true, scopes: ["actor" as const, "runner" as const] };
    await using world = yielding([updated(data), completed()], { pipelines: [aPipeline({ state })] });
    const run = await world.execute(aRun({ chat: aChat({ sender_id: null }) }));
    expect(run.state).toBe("completed");
    expect(run.warnings).toEqual([{ code: "state.refused", message: textLike(why) }]);
    expect((await world.eventsOf("run_1")).map(({ type }) => type)).not.toContain("state.updated");
  });

  it("stores a secret as it is, and masks it where it is shown", async () => {
    const results = [updated({ scope: "conversation", key: "token", value: SECRET }), completed()];
    await using world = yielding(results, { secrets: [SECRET] });
    await world.execute(aRun());
    const shown = (await world.eventsOf("run_1")).find(({ type }) => type === "state.updated");
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    expect(await stateOfNext(world)).toMatchObject({ conversation: { token: SECRET } });
  });

  it("fails the run where the store fails, since the update is lost", async () => {
    await using world = yielding([updated({ scope: "runner", key: "a", value: 1 }), completed()]);
    world.stores.state.set = async () => {
      throw new Error("The disk is gone.");
    };
    expect(await world.execute(aRun())).toMatchObject({ state: "failed", error: { code: "internal" } });
  });
});

describe("takeResult: a run without a conversation", () => {
  const trigger = {
    event_type: "friend.request_received" as const,
    event_time: 1,
    source_event_type: null,
    actor: { actor_type: "user", id: "9", name: null },
    subject: { type: "friend_request", id: null, data: {} },
    data: {},
  };

  it("keeps the state of the runner, and nothing of a conversation", async () => {
    const results = [
      updated({ scope: "runner", key: "a", value: 1 }),
      updated({ scope: "conversation", key: "a", value: 1 }),
      completed(),
    ];
    const state = { enable_state: true, scopes: ["conversation" as const, "runner" as const] };
    const runner = new ScriptedRunner({ results });
    await using world = aRunWorld({ runner, pipelines: [aPipeline({ state })] });
    const run = await world.execute(aRun({ chat: null, trigger }));
    expect(run.warnings).toEqual([
      { code: "state.refused", message: textLike(/this run has no conversation/) },
    ]);
    await world.execute(aRun({ id: "run_2", chat: null, trigger }));
    expect(runner.contexts.map((context) => context.state)).toEqual([{ runner: {} }, { runner: { a: 1 } }]);
  });

  it("opens conversation and actor to other events than messages, where the binding names no scopes", async () => {
    const runner = new ScriptedRunner();
    await using world = aRunWorld({ runner });
    await world.execute(aRun({ chat: null, trigger }));
    expect(runner.contexts[0]?.state).toEqual({ actor: {} });
  });
});

describe("takeResult: others", () => {
  it("leaves what needs no store but the ledger to the recorder", async () => {
    const results = [{ type: "action.requested" as const, data: { action: "wave" } }, completed()];
    await using world = yielding(results);
    await world.execute(aRun());
    const types = (await world.eventsOf("run_1")).map(({ type }) => type);
    expect(types).toEqual(["run.started", "action.requested", "run.completed"]);
  });

  it("gives the runner a host whose storage goes by manifest and binding", async () => {
    const seen: unknown[] = [];
    const runner = new ScriptedRunner({
      descriptor: aDescriptor({ permissions: { storage: ["plugin", "workspace"] } }),
      play: async function* (context, host, options) {
        await host.storage.set({ scope: "plugin", key: "a", value: 1 }, options);
        seen.push(await host.storage.get({ scope: "plugin", key: "a" }, options));
        seen.push(await host.storage.get({ scope: "workspace", key: "a" }, options).catch(String));
        seen.push(context.context.available_apis.storage, context.resources.storage);
        yield { ...completed(), run_id: context.run_id };
      },
    });
    await using world = aRunWorld({ runner });
    await world.execute(aRun());
    expect(seen).toEqual([1, textLike(/not authorized/), true, { plugin: true, workspace: false }]);
  });
});
