import { describe, expect, it } from "vitest";
import { selectedKnowledgeBases, selectedModels } from "../../../src/runs/selected-resources.js";
import { aDescriptor } from "../../support/builders.js";

const item = (name: string, type: string) => ({ name, type, label: { en: name } });
const SCHEMA = aDescriptor({
  config: [
    item("model", "model-fallback-selector"),
    item("second", "llm-model-selector"),
    item("third", "select-llm-model"),
    item("rerank", "rerank-model-selector"),
    item("bases", "knowledge-base-multi-selector"),
    item("more", "select-knowledge-bases"),
    item("note", "string"),
  ],
}).config_schema;
const EMPTY = ["", "  ", "__none__", null, undefined, 7, [], {}];

describe("selectedModels", () => {
  it("finds what each kind of model selector names, in order of the schema", () => {
    const config = {
      rerank: "order",
      third: "c",
      second: "b",
      model: { primary: "a", fallbacks: ["spare", " last "], reasoning: {} },
    };
    expect(selectedModels(config, SCHEMA)).toEqual(["a", "spare", "last", "b", "c", "order"]);
  });

  it.each(["main", " main "])(
    "reads the plain text %o in a fallback selector as the primary model",
    (model) => {
      expect(selectedModels({ model }, SCHEMA)).toEqual(["main"]);
    },
  );

  it.each([...EMPTY, { primary: "", fallbacks: "spare" }])("selects nothing for %o", (value) => {
    expect(selectedModels({ model: value, second: value, third: value, rerank: value }, SCHEMA)).toEqual([]);
  });

  it("reads selectors of models only: the text of another item selects nothing", () => {
    expect(selectedModels({ note: "main", bases: ["kb"], model_id: "main" }, SCHEMA)).toEqual([]);
  });
});

describe("selectedKnowledgeBases", () => {
  it("finds what each kind of selector lists, in order of the schema", () => {
    expect(selectedKnowledgeBases({ more: ["c"], bases: ["a", " b "] }, SCHEMA)).toEqual(["a", "b", "c"]);
  });

  it.each([...EMPTY, "kb", [""], ["__none__", null, 7]])("selects nothing for %o", (value) => {
    expect(selectedKnowledgeBases({ bases: value, more: value }, SCHEMA)).toEqual([]);
  });

  it("never reads the single key of old configs", () => {
    expect(selectedKnowledgeBases({ "knowledge-base": "kb", note: "kb" }, SCHEMA)).toEqual([]);
  });
});
