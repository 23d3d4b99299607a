import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../../src/domain/errors.js";
import type { ModelResource } from "../../../../src/domain/resources.js";
import type { ChatChunk } from "../../../../src/ports/chat-model.js";
import type { ModelCall } from "../../../../src/ports/run-host.js";
import { authoriseResources } from "../../../../src/runs/authorise-resources.js";
import { ModelCalls } from "../../../../src/runs/host/model-calls.js";
import { RunGate } from "../../../../src/runs/host/run-gate.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { failure, ScriptedModel, type Step, text } from "../../../fakes/scripted-model.js";
import { aBinding, aDescriptor, aModel, anOffer, aPolicy, modelsOf } from "../../../support/builders.js";
import { proves } from "../../../support/proves.js";
import { textLike } from "../../../support/text-like.js";

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const TOOL = { name: "exec", description: "Runs.", parameters: { type: "object" } };

function aResource(fields: Partial<ModelResource> = {}): ModelResource {
  return {
    model_id: "main",
    type: "llm",
    provider: "models.example",
    operations: ["invoke", "stream"],
    abilities: ["func_call"],
    context_window: null,
    max_output_tokens: null,
    ...fields,
  };
}

function aCall(fields: Partial<ModelCall> = {}): ModelCall {
  return { modelId: "main", messages: [{ role: "user", content: "Hi" }], tools: [TOOL], ...fields };
}

interface Setting {
  readonly calls: ModelCalls;
  readonly model: ScriptedModel;
  readonly run: AbortController;
  readonly logger: KeptLogger;
  readonly options: { readonly signal: AbortSignal };
}

function aSetting(steps: readonly Step[], resources: readonly ModelResource[] = [aResource()]): Setting {
  const model = new ScriptedModel(steps);
  const run = new AbortController();
  const logger = new KeptLogger();
  const gate = new RunGate({ runId: "run_1", signal: run.signal, logger });
  const models = new Map([
    ["main", model],
    ["spare", model],
  ]);
  const calls = new ModelCalls({ gate, resources, models });
  return { calls, model, run, logger, options: { signal: new AbortController().signal } };
}

async function collect(chunks: AsyncIterable<ChatChunk>): Promise<string> {
  let whole = "";
  for await (const chunk of chunks) whole += chunk.text ?? "";
  return whole;
}

describe("ModelCalls", () => {
  it("passes an authorised call on, as it was made", async () => {
    const { calls, model, options } = aSetting([text("Hello", { usage: USAGE })]);
    const reply = await calls.invoke(aCall({ maxOutputTokens: 100 }), options);
    expect(reply.text).toBe("Hello");
    expect(model.request()).toEqual({
      messages: [{ role: "user", content: "Hi" }],
      tools: [TOOL],
      maxOutputTokens: 100,
    });
  });

  it("streams the pieces of an authorised call", async () => {
    const { calls, model, options } = aSetting([text(["Hel", "lo"])]);
    expect(await collect(calls.stream(aCall(), options))).toBe("Hello");
    expect(model.modes).toEqual(["stream"]);
  });

  it.each(["elsewhere", "spare", ""])(
    "refuses a model outside the resources, in the log too, and asks no provider: %o",
    async (modelId) => {
      proves("AUTH-11");
      const { calls, model, logger, options } = aSetting([]);
      await expect(calls.invoke(aCall({ modelId }), options)).rejects.toMatchObject({
        code: "host.unauthorized",
        message: textLike(/not authorized/),
      });
      await expect(collect(calls.stream(aCall({ modelId }), options))).rejects.toMatchObject({
        code: "host.unauthorized",
      });
      expect(logger.lines.map(({ level }) => level)).toEqual(["warn", "warn"]);
      expect(model.requests).toEqual([]);
    },
  );

  it("authorises each operation by itself", async () => {
    proves("AUTH-12");
    const { calls, model, options } = aSetting([text("Hi")], [aResource({ operations: ["invoke"] })]);
    await expect(collect(calls.stream(aCall(), options))).rejects.toMatchObject({
      code: "host.unauthorized",
      message: 'This run is not authorized for stream of the model "main".',
    });
    expect(model.requests).toEqual([]);
    expect((await calls.invoke(aCall(), options)).text).toBe("Hi");
  });

  it("goes by the snapshot: what is changed after the registration changes nothing", async () => {
    proves("AUTH-10");
    const offered = new Map(modelsOf(aModel({ id: "main" })));
    const policy = aPolicy({ allowed_model_uuids: ["main"] });
    const { resources } = authoriseResources(
      aBinding({ policy }),
      aDescriptor(),
      anOffer({ models: offered }),
    );
    const { calls, model, options } = aSetting([], resources.models);
    offered.set("spare", aModel({ id: "spare" }));
    policy.allowed_model_uuids.push("spare");
    expect(() => Object.assign(resources.models[0] ?? {}, { model_id: "spare" })).toThrow(TypeError);
    await expect(calls.invoke(aCall({ modelId: "spare" }), options)).rejects.toMatchObject({
      code: "host.unauthorized",
    });
    expect(model.requests).toEqual([]);
  });

  it("leaves tool definitions out for a model that cannot call", async () => {
    const { calls, model, options } = aSetting([text("Hi")], [aResource({ abilities: ["vision"] })]);
    await calls.invoke(aCall(), options);
    expect(model.request().tools).toEqual([]);
  });

  it("counts every call, with zero tokens where the provider reported none", async () => {
    const { calls, options } = aSetting([
      text("One", { usage: USAGE }),
      text("Two"),
      text("Three", { usage: USAGE }),
    ]);
    await calls.invoke(aCall(), options);
    await calls.invoke(aCall(), options);
    await collect(calls.stream(aCall(), options));
    expect(calls.usage).toMatchObject({ model_calls: 3, prompt_tokens: 20, total_tokens: 30 });
    expect(calls.usage.turns).toHaveLength(3);
  });

  it("counts a stream that its reader leaves early, and none that said nothing", async () => {
    const { calls, options } = aSetting([text(["One", "Two"]), failure("model.unavailable")]);
    for await (const chunk of calls.stream(aCall(), options)) if (chunk.text === "One") break;
    await expect(collect(calls.stream(aCall(), options))).rejects.toMatchObject({
      code: "model.unavailable",
    });
    expect(calls.usage.model_calls).toBe(1);
  });

  it("ends the model's work with the run and with the call, and lets go of both", async () => {
    const seen: AbortSignal[] = [];
    const step: Step = async function* (_request, { signal }) {
      seen.push(signal);
      yield { text: "Hi", finishReason: "stop" };
    };
    const { calls, run, options } = aSetting([step, step]);
    for await (const _chunk of calls.stream(aCall(), options)) run.abort(new Error("stopped"));
    expect(seen[0]?.reason).toEqual(new Error("stopped"));
    expect(getEventListeners(options.signal, "abort")).toHaveLength(0);
    expect(getEventListeners(run.signal, "abort")).toHaveLength(0);
  });

  it("asks no provider with no time left", async () => {
    const { calls, model, run, options } = aSetting([]);
    run.abort(new ServiceError("runner.timeout", "The run passed its deadline."));
    await expect(calls.invoke(aCall(), options)).rejects.toMatchObject({ code: "host.deadline_exceeded" });
    await expect(collect(calls.stream(aCall(), options))).rejects.toMatchObject({
      code: "host.deadline_exceeded",
    });
    expect(model.requests).toEqual([]);
  });
});
