/** Checks the config of a runner by what its own schema says of each item: type, options, required (runs §4.2, §5.5). */
import { findAccessFaults } from "../domain/access-switches.js";
import { type ConfigItem, itemValue } from "../domain/runner-manifest.js";
import { isEmptySelection } from "../domain/selector-values.js";

type Config = Readonly<Record<string, unknown>>;

/** @returns one sentence per fault, each beginning with the key it is about; empty when all is well */
export function findSchemaFaults(schema: readonly ConfigItem[], config: Config): readonly string[] {
  return [...schema.flatMap((item) => findItemFaults(item, config)), ...findAccessFaults(config)];
}

function findItemFaults(item: ConfigItem, config: Config): readonly string[] {
  if (item.name === undefined) return [];
  const value = itemValue(item, config);
  if (isEmptySelection(value ?? null)) {
    const isMissing = item.required === true && (item.default ?? null) === null;
    return isMissing ? [`${item.name} is required: ${ALLOWED[item.type]}.`] : [];
  }
  const wanted = fits(item, value) ? null : describeWanted(item);
  return wanted === null ? [] : [`${item.name} must be ${wanted}, but ${describe(value)} was given.`];
}

type Kind = ConfigItem["type"];

const ALLOWED: Readonly<Record<Kind, string>> = {
  "model-fallback-selector": "{primary, fallbacks, reasoning}",
  "llm-model-selector": "the id of a model",
  "select-llm-model": "the id of a model",
  "rerank-model-selector": "the id of a model",
  "knowledge-base-multi-selector": "a list of ids",
  "select-knowledge-bases": "a list of ids",
  "prompt-editor": "a text or a list of messages",
  integer: "a whole number",
  boolean: "true or false",
  select: "one of its options",
  string: "a text",
};

function describeWanted(item: ConfigItem): string {
  if (item.type !== "select" || item.options === undefined) return ALLOWED[item.type];
  return `one of ${item.options.map(({ name }) => name).join(", ")}`;
}

const isText = (value: unknown): boolean => typeof value === "string";
const isListOfTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

function fits(item: ConfigItem, value: unknown): boolean {
  switch (item.type) {
    case "model-fallback-selector":
      return isText(value) || (typeof value === "object" && !Array.isArray(value));
    case "knowledge-base-multi-selector":
    case "select-knowledge-bases":
      return isListOfTexts(value);
    case "prompt-editor":
      return isText(value) || Array.isArray(value);
    case "integer":
      return Number.isSafeInteger(value);
    case "boolean":
      return typeof value === "boolean";
    case "select":
      return item.options?.some(({ name }) => name === value) ?? isText(value);
    case "llm-model-selector":
    case "select-llm-model":
    case "rerank-model-selector":
    case "string":
      return isText(value);
    default:
      return item.type satisfies never;
  }
}

/** Enough to find the slip; a config may hold a secret, so texts are not repeated. */
function describe(value: unknown): string {
  if (typeof value === "string") return `a text of ${value.length} characters`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object") return "a group";
  return JSON.stringify(value);
}
