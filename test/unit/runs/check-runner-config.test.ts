import { describe, expect, it } from "vitest";
import type { ConfigItem } from "../../../src/domain/runner-manifest.js";
import { findSchemaFaults } from "../../../src/runs/check-runner-config.js";

const label = { en: "Item" };
const options = [
  { name: "calm", label },
  { name: "loud", label },
];

function faultsOf(item: Partial<ConfigItem> & Pick<ConfigItem, "type">, value: unknown): readonly string[] {
  return findSchemaFaults([{ name: "item", label, ...item }], { item: value });
}

describe("findSchemaFaults", () => {
  it.each<[ConfigItem["type"], unknown]>([
    ["model-fallback-selector", { primary: "a", fallbacks: [] }],
    ["model-fallback-selector", "a"],
    ["llm-model-selector", "a"],
    ["select-llm-model", "a"],
    ["rerank-model-selector", "a"],
    ["knowledge-base-multi-selector", ["a", "b"]],
    ["select-knowledge-bases", []],
    ["prompt-editor", [{ role: "system", content: "Be kind." }]],
    ["prompt-editor", "Be kind."],
    ["integer", 0],
    ["boolean", false],
    ["select", "calm"],
    ["string", "text"],
  ])("takes for %s the value %j", (type, value) => {
    expect(faultsOf({ type }, value)).toEqual([]);
  });

  it.each<[ConfigItem["type"], unknown]>([
    ["model-fallback-selector", ["a"]],
    ["llm-model-selector", 5],
    ["select-llm-model", {}],
    ["rerank-model-selector", true],
    ["knowledge-base-multi-selector", "a"],
    ["select-knowledge-bases", [1]],
    ["prompt-editor", 5],
    ["integer", "5"],
    ["integer", 1.5],
    ["integer", true],
    ["boolean", "true"],
    ["boolean", 1],
    ["select", "silent"],
    ["string", 5],
  ])("refuses for %s the value %j, by its name", (type, value) => {
    expect(faultsOf({ type, options }, value)).toEqual([expect.stringMatching(/^item must be /)]);
  });

  it("names the options of a select", () => {
    expect(faultsOf({ type: "select", options }, "silent")).toEqual([
      "item must be one of calm, loud, but a text of 6 characters was given.",
    ]);
  });

  it.each([null, "", "__none__", undefined])("reads %j as nothing selected", (value) => {
    expect(faultsOf({ type: "llm-model-selector" }, value)).toEqual([]);
    expect(faultsOf({ type: "llm-model-selector", required: true }, value)).toEqual([
      "item is required: the id of a model.",
    ]);
    expect(faultsOf({ type: "llm-model-selector", required: true, default: "a" }, value)).toEqual([]);
  });

  it("repeats no text of the config, which may be a secret", () => {
    expect(faultsOf({ type: "integer" }, "sk-secret").join("")).not.toContain("sk-secret");
  });

  it("says of what kind the wrong value is", () => {
    expect(faultsOf({ type: "integer" }, [1, 2])).toEqual([expect.stringContaining("a list of 2")]);
    expect(faultsOf({ type: "integer" }, { a: 1 })).toEqual([expect.stringContaining("a group")]);
    expect(faultsOf({ type: "integer" }, 1.5)).toEqual([expect.stringContaining("1.5")]);
  });

  it("asks nothing of an item without a name", () => {
    expect(findSchemaFaults([{ label, type: "integer", required: true }], {})).toEqual([]);
  });

  it("is strict with switches that widen access, declared or not", () => {
    expect(findSchemaFaults([], { "enable-all-tools": "true" })).toEqual([
      'enable-all-tools must be true or false, but "true" was given.',
    ]);
  });
});
