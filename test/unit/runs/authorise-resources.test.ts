import { describe, expect, it } from "vitest";
import { authoriseResources } from "../../../src/runs/authorise-resources.js";
import { aBinding, aDescriptor, aModel, aPolicy, aTool, modelsOf } from "../../support/builders.js";
import { proves } from "../../support/proves.js";

const SCHEMA = [
  { name: "model", type: "model-fallback-selector", label: { en: "Model" } },
  { name: "second", type: "llm-model-selector", label: { en: "Second" } },
  { name: "third", type: "select-llm-model", label: { en: "Third" } },
  { name: "rerank", type: "rerank-model-selector", label: { en: "Rerank" } },
  { name: "note", type: "string", label: { en: "Note" } },
];

const MODELS = modelsOf(
  aModel({ id: "main" }),
  aModel({ id: "spare" }),
  aModel({ id: "order", type: "rerank", abilities: [] }),
);
const OFFER = { models: MODELS, tools: [aTool(), aTool({ tool_name: "read" })] };

function modelIds(config: Readonly<Record<string, unknown>>, allowed: string[] = []): string[] {
  const binding = aBinding({ config, policy: aPolicy({ allowed_model_uuids: allowed }) });
  const { resources } = authoriseResources(binding, aDescriptor({ config: SCHEMA }), OFFER);
  return resources.models.map(({ model_id }) => model_id);
}

function toolNames(allowed: string[] | null, descriptor = aDescriptor()): string[] {
  const binding = aBinding({ policy: aPolicy({ allowed_tool_names: allowed }) });
  return authoriseResources(binding, descriptor, OFFER).resources.tools.map(({ tool_name }) => tool_name);
}

describe("authoriseResources: models", () => {
  it("offers primary, fallback and rerank model, the rerank model for reranking only", () => {
    proves("AUTH-01");
    const binding = aBinding({
      config: { model: { primary: "main", fallbacks: ["spare"] }, rerank: "order" },
    });
    const { resources, warnings } = authoriseResources(binding, aDescriptor({ config: SCHEMA }), OFFER);
    expect(resources.models.map(({ model_id, operations }) => [model_id, operations])).toEqual([
      ["main", ["count_tokens", "invoke", "stream"]],
      ["spare", ["count_tokens", "invoke", "stream"]],
      ["order", ["rerank"]],
    ]);
    expect(warnings).toEqual([]);
  });

  it("lists a model once that config and policy both name", () => {
    proves("AUTH-02");
    expect(modelIds({ model: { primary: "main", fallbacks: ["main"] }, second: "main" }, ["main"])).toEqual([
      "main",
    ]);
  });

  it("skips a model that is not configured, and says so", () => {
    proves("AUTH-03");
    const binding = aBinding({ config: { model: { primary: "gone", fallbacks: ["spare"] } } });
    const { resources, warnings } = authoriseResources(binding, aDescriptor({ config: SCHEMA }), OFFER);
    expect(resources.models.map(({ model_id }) => model_id)).toEqual(["spare"]);
    expect(warnings).toEqual([
      {
        code: "resources.model_missing",
        message: 'The model "gone" is selected but not configured; it is skipped.',
      },
    ]);
  });

  it("adds what the policy grants to what the config selects", () => {
    expect(modelIds({ second: "spare" }, ["main"])).toEqual(["spare", "main"]);
  });

  it.each(["main", " main "])(
    "reads the plain text %o in a fallback selector as the primary model",
    (model) => {
      expect(modelIds({ model })).toEqual(["main"]);
    },
  );

  it.each(["", "  ", "__none__", null, undefined, 7, [], {}, { primary: "", fallbacks: "spare" }])(
    "selects nothing for %o",
    (value) => {
      expect(modelIds({ model: value, second: value, third: value, rerank: value })).toEqual([]);
    },
  );

  it("reads selectors only: the text of another item selects nothing", () => {
    expect(modelIds({ note: "main", model_id: "main" })).toEqual([]);
  });

  it("offers only the operations that the manifest permits", () => {
    const descriptor = aDescriptor({ config: SCHEMA, permissions: { models: ["invoke"] } });
    const binding = aBinding({ config: { model: { primary: "main" }, rerank: "order" } });
    const { models } = authoriseResources(binding, descriptor, OFFER).resources;
    expect(models.map(({ model_id, operations }) => [model_id, operations])).toEqual([["main", ["invoke"]]]);
  });

  it("tells window, abilities and provider of each model", () => {
    const [model] = authoriseResources(
      aBinding({ config: { second: "main" } }),
      aDescriptor({ config: SCHEMA }),
      OFFER,
    ).resources.models;
    expect(model).toMatchObject({
      type: "llm",
      provider: "models.example",
      abilities: ["func_call"],
      context_window: 32_000,
      max_output_tokens: 4096,
    });
  });
});

describe("authoriseResources: tools", () => {
  it("grants every native tool where the policy names none", () => {
    expect(toolNames(null)).toEqual(["exec", "read"]);
  });

  it("grants the intersection of what the policy names and what there is", () => {
    proves("AUTH-06");
    expect(toolNames(["read", "elsewhere"])).toEqual(["read"]);
  });

  it("grants the tool job together with exec, and never without", () => {
    const offer = {
      models: MODELS,
      tools: [aTool(), aTool({ tool_name: "job" }), aTool({ tool_name: "read" })],
    };
    const namesOf = (allowed: string[]) =>
      authoriseResources(
        aBinding({ policy: aPolicy({ allowed_tool_names: allowed }) }),
        aDescriptor(),
        offer,
      ).resources.tools.map(({ tool_name }) => tool_name);
    expect(namesOf(["exec"])).toEqual(["exec", "job"]);
    expect(namesOf(["job", "read"])).toEqual(["read"]);
  });

  it("grants no tool to a runner without the permission, whatever the binding grants", () => {
    proves("AUTH-04");
    const descriptor = aDescriptor({ permissions: { tools: ["detail"] } });
    expect(toolNames(null, descriptor)).toEqual([]);
    expect(toolNames(["exec"], descriptor)).toEqual([]);
  });

  it("grants no tool to a runner without the capability", () => {
    expect(toolNames(null, aDescriptor({ capabilities: { streaming: true } }))).toEqual([]);
  });
});

describe("authoriseResources: snapshot", () => {
  it("is not widened by what is changed afterwards, and cannot be changed itself", () => {
    const tools = [aTool()];
    const abilities = ["func_call" as const];
    const offer = { models: modelsOf(aModel({ abilities })), tools };
    const binding = aBinding({ policy: aPolicy({ allowed_model_uuids: ["main"] }) });
    const { resources } = authoriseResources(binding, aDescriptor(), offer);
    const before = structuredClone(resources);
    tools.push(aTool({ tool_name: "read" }));
    abilities.push("func_call");
    expect(resources).toEqual(before);
    expect(() => Object.assign(resources.models[0] ?? {}, { model_id: "spare" })).toThrow(TypeError);
    expect(() => Object.assign(resources.tools, [aTool({ tool_name: "read" })])).toThrow(TypeError);
  });

  it("grants no storage, which this service does not offer", () => {
    const descriptor = aDescriptor({ permissions: { storage: ["plugin", "workspace"] } });
    const policy = aPolicy({ allow_plugin_storage: true, allow_workspace_storage: true });
    expect(authoriseResources(aBinding({ policy }), descriptor, OFFER).resources.storage).toEqual({
      plugin: false,
      workspace: false,
    });
  });
});
