import { describe, expect, it } from "vitest";
import { LocalRunEvents } from "../../../../src/adapters/system/local-run-events.js";
import { SecretMask } from "../../../../src/lib/secret-mask.js";
import { createRunHost, type LiveHost } from "../../../../src/runs/host/create-run-host.js";
import { planRun } from "../../../../src/runs/plan-run.js";
import { RunRecorder } from "../../../../src/runs/record-run.js";
import { nativeTools } from "../../../../src/tools/native/index.js";
import { FakeBoxBackend } from "../../../fakes/fake-box-backend.js";
import { exited, printed } from "../../../fakes/fake-box-commands.js";
import { ScriptedModel, text } from "../../../fakes/scripted-model.js";
import { ScriptedRunner } from "../../../fakes/scripted-runner.js";
import { aDescriptor, aModel, aPipeline, aPolicy } from "../../../support/builders.js";
import { aRun, aTranscriptItem } from "../../../support/records.js";
import { aRunWorld, NEVER, type RunWorld, type WorldOptions } from "../../../support/run-world.js";

const CALL = { signal: NEVER };
const USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const PIPELINES = [aPipeline({ policy: aPolicy({ allowed_model_uuids: ["main"] }) })];

interface Setting extends AsyncDisposable {
  readonly world: RunWorld;
  readonly host: LiveHost;
}

async function aSetting(options: WorldOptions = {}): Promise<Setting> {
  const world = aRunWorld({
    pipelines: PIPELINES,
    models: [aModel()],
    tools: nativeTools({ outputChars: 1000 }),
    ...options,
  });
  const key = { template: "{global}", key: "global", identity: "identity-1" };
  const session = await world.boxes.findOrCreateSession("main", key, CALL);
  const run = aRun({ session: { id: session.id, key: "global" } });
  await world.stores.runs.create(run);
  const deps = {
    ...world.stores,
    events: new LocalRunEvents(),
    clock: world.clock,
    mask: new SecretMask([]),
  };
  const host = createRunHost(world.host, {
    run,
    plan: await planRun(world.plan, { tenant: "main", botId: null, pipeline: null }, { signal: NEVER }),
    prompt: [],
    recorder: new RunRecorder(deps, run),
    signal: new AbortController().signal,
  });
  return {
    world,
    host,
    [Symbol.asyncDispose]: async () => {
      await host.leave();
      await world[Symbol.asyncDispose]();
    },
  };
}

describe("createRunHost", () => {
  it("runs a tool in the box of the run, once the box is bound", async () => {
    const backend = new FakeBoxBackend({
      commands: async function* () {
        yield printed("hello\n");
        yield exited(0);
      },
    });
    await using setting = await aSetting({ backend });
    const { api } = setting.host;
    const request = { id: "c1", name: "exec", parameters: { command: "echo hello" } };
    expect(await api.callTool(request, CALL)).toMatchObject({ ok: false });
    await api.bindBox(CALL);
    expect(await api.callTool(request, CALL)).toMatchObject({ ok: true, result: { stdout: "hello\n" } });
  });

  it("calls models and counts what they used", async () => {
    using model = new ScriptedModel([text("Hi", { usage: USAGE }), text("Ho", { usage: USAGE })]);
    await using setting = await aSetting({ chatModels: new Map([["main", model]]) });
    const { api } = setting.host;
    const call = { modelId: "main", messages: [], tools: [] };
    expect((await api.invokeModel(call, CALL)).text).toBe("Hi");
    for await (const _chunk of api.streamModel(call, CALL));
    expect(setting.host.usage()).toMatchObject({ model_calls: 2, total_tokens: 6 });
  });

  it("asks the knowledge bases that the policy grants, and orders documents by the models it grants", async () => {
    const chunk = { content: "Press it twice.", score: null, metadata: {} };
    const policy = aPolicy({ allowed_kb_uuids: ["manual"], allowed_model_uuids: ["order"] });
    const permissions = { knowledge_bases: ["retrieve"], models: ["rerank"] };
    await using setting = await aSetting({
      runner: new ScriptedRunner({ descriptor: aDescriptor({ permissions }) }),
      pipelines: [aPipeline({ policy })],
      models: [aModel({ id: "order", type: "rerank" })],
      knowledgeBases: new Map([["manual", { retrieve: async () => [chunk] }]]),
      rerankers: new Map([["order", { rerank: async () => [{ index: 0, score: 1 }] }]]),
    });
    const { api } = setting.host;
    expect(await api.retrieveKnowledge({ kbId: "manual", text: "How?" }, CALL)).toEqual([chunk]);
    const call = { modelId: "order", query: "q", documents: ["a"] };
    expect(await api.rerank(call, CALL)).toEqual([{ index: 0, score: 1 }]);
    await expect(api.captureFile({ url: "https://files.example/a" }, CALL)).rejects.toMatchObject({
      code: "host.unauthorized",
    });
  });

  it("reads the history of the run's own conversation, for runners with the permission", async () => {
    await using setting = await aSetting();
    await setting.world.stores.transcripts.append(aTranscriptItem());
    await setting.world.stores.transcripts.append(aTranscriptItem({ conversation: "other" }));
    const page = await setting.host.api.historyPage({ direction: "backward" }, CALL);
    expect(page.items).toHaveLength(1);
    const runner = new ScriptedRunner({ descriptor: aDescriptor({ permissions: { history: ["search"] } }) });
    await using refused = await aSetting({ runner });
    await expect(refused.host.api.historyPage({ direction: "backward" }, CALL)).rejects.toMatchObject({
      code: "host.unauthorized",
      message: "This run is not authorized for history_page.",
    });
  });

  it("has no prompt of its own", async () => {
    await using setting = await aSetting();
    expect(await setting.host.api.getPrompt(CALL)).toEqual([]);
  });

  it("describes tools, the box and attachments", async () => {
    await using setting = await aSetting();
    const { api } = setting.host;
    expect((await api.getToolDetail("exec", CALL)).parameters).toMatchObject({ type: "object" });
    expect(await api.boxStatus(CALL)).toMatchObject({ enabled: true });
    await api.bindBox(CALL);
    expect(await api.importAttachments(CALL)).toEqual([]);
    expect(await api.readImage("attachment-0", 100, CALL)).toBeNull();
    expect(await api.saveToolResult("c1", "text", CALL)).toMatch(/^\/workspace\//);
    expect(setting.host.attachments()).toEqual([]);
  });

  it("closes when it is left, and lists what lies in the outbox", async () => {
    await using setting = await aSetting();
    await setting.host.api.bindBox(CALL);
    const [session] = await setting.world.stores.sessions.listAll();
    setting.world.backend.tree(session?.volume ?? "").put("/workspace/outbox/run_1/a.txt", "A");
    expect(await setting.host.leave()).toEqual([{ path: "/workspace/outbox/run_1/a.txt", bytes: 1 }]);
    await expect(setting.host.api.boxStatus(CALL)).rejects.toMatchObject({ code: "host.not_found" });
  });
});
