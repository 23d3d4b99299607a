import { describe, expect, it } from "vitest";
import { authoriseModels } from "../../../src/runs/authorise-models.js";
import { aBinding, aDescriptor, aModel, aPolicy, modelsOf } from "../../support/builders.js";
import { proves } from "../../support/proves.js";

const SCHEMA = [
  { name: "model", type: "model-fallback-selector", label: { en: "Model" } },
  { name: "second", type: "llm-model-selector", label: { en: "Second" } },
  { name: "rerank", type: "rerank-model-selector", label: { en: "Rerank" } },
];
const MODELS = modelsOf(
  aModel({ id: "main" }),
  aModel({ id: "spare" }),
  aModel({ id: "order", type: "rerank", abilities: [] }),
);

function authorise(
  config: Readonly<Record<string, unknown>>,
  { allowed = [], permitted }: { allowed?: string[]; permitted?: readonly string[] } = {},
) {
  const binding = aBinding({ config, policy: aPolicy({ allowed_model_uuids: allowed }) });
  const permissions = permitted === undefined ? {} : { permissions: { models: permitted } };
  return authoriseModels(binding, aDescriptor({ config: SCHEMA, ...permissions }), MODELS);
}

const idsOf = ({ granted }: ReturnType<typeof authorise>) => granted.map(({ model_id }) => model_id);
const operationsOf = ({ granted }: ReturnType<typeof authorise>) =>
  granted.map(({ model_id, operations }) => [model_id, operations]);

describe("authoriseModels", () => {
  it("offers primary, fallback and rerank model, the rerank model for reranking only", () => {
    proves("AUTH-01");
    const authorised = authorise({ model: { primary: "main", fallbacks: ["spare"] }, rerank: "order" });
    expect(operationsOf(authorised)).toEqual([
      ["main", ["count_tokens", "invoke", "stream"]],
      ["spare", ["count_tokens", "invoke", "stream"]],
      ["order", ["rerank"]],
    ]);
    expect(authorised.warnings).toEqual([]);
  });

  it("lists a model once that config and policy both name", () => {
    proves("AUTH-02");
    const config = { model: { primary: "main", fallbacks: ["main"] }, second: "main" };
    expect(idsOf(authorise(config, { allowed: ["main"] }))).toEqual(["main"]);
  });

  it("skips a model that is not configured, and says so", () => {
    proves("AUTH-03");
    const authorised = authorise({ model: { primary: "gone", fallbacks: ["spare"] } });
    expect(idsOf(authorised)).toEqual(["spare"]);
    expect(authorised.warnings).toEqual([
      {
        code: "resources.model_missing",
        message: 'The model "gone" is selected but not configured; it is skipped.',
      },
    ]);
  });

  it("adds what the policy grants to what the config selects", () => {
    expect(idsOf(authorise({ second: "spare" }, { allowed: ["main"] }))).toEqual(["spare", "main"]);
  });

  it("offers only the operations that the manifest permits", () => {
    const config = { model: { primary: "main" }, rerank: "order" };
    expect(operationsOf(authorise(config, { permitted: ["invoke"] }))).toEqual([["main", ["invoke"]]]);
    expect(operationsOf(authorise(config, { permitted: ["rerank"] }))).toEqual([["order", ["rerank"]]]);
    expect(operationsOf(authorise(config, { permitted: [] }))).toEqual([]);
  });

  it("tells window, abilities and provider of each model", () => {
    expect(authorise({ second: "main" }).granted[0]).toMatchObject({
      type: "llm",
      provider: "models.example",
      abilities: ["func_call"],
      context_window: 32_000,
      max_output_tokens: 4096,
    });
  });
});
