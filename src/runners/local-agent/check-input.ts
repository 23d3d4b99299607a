/** Checks the arguments of a call against the schema that was offered (local-agent §7.1). Pure. */
import type { JsonSchema } from "../../domain/tool.js";
import { describeJson, isObject, type JsonObject } from "./parse-arguments.js";

/** @returns one sentence about the first fault, naming its field; null when all fits */
export function findInputFault(schema: JsonSchema, input: JsonObject): string | null {
  return findFault(schema, input, "");
}

/** `command (string, required), timeout_sec (integer)`; what a model is told after bad arguments. */
export function describeFields(schema: JsonSchema): string {
  const fields = Object.entries(propertiesOf(schema)).map(([name, property]) => {
    const facts = [...typesOf(property), ...(requiredOf(schema).includes(name) ? ["required"] : [])];
    return facts.length === 0 ? name : `${name} (${facts.join(", ")})`;
  });
  return fields.length === 0 ? "none" : fields.join(", ");
}

/** An object with every required field, as a pattern to follow. */
export function exampleInput(schema: JsonSchema): string {
  const properties = propertiesOf(schema);
  const example = requiredOf(schema).map((name) => [name, exampleOf(properties[name])]);
  return JSON.stringify(Object.fromEntries(example));
}

function findFault(schema: JsonSchema, value: unknown, path: string): string | null {
  return (
    findTypeFault(schema, value, path) ??
    findEnumFault(schema, value, path) ??
    findFieldFault(schema, value, path) ??
    findItemFault(schema, value, path)
  );
}

function findTypeFault(schema: JsonSchema, value: unknown, path: string): string | null {
  const types = typesOf(schema);
  if (types.length === 0 || types.some((type) => fitsType(type, value))) return null;
  return `${nameOf(path)} must be ${types.map(withArticle).join(" or ")}, but ${describeJson(value)} came`;
}

function findEnumFault(schema: JsonSchema, value: unknown, path: string): string | null {
  const allowed: unknown = schema["enum"];
  if (!Array.isArray(allowed) || allowed.includes(value)) return null;
  return `${nameOf(path)} must be one of ${allowed.map((word) => JSON.stringify(word)).join(", ")}`;
}

function findFieldFault(schema: JsonSchema, value: unknown, path: string): string | null {
  if (!isObject(value)) return null;
  const missing = requiredOf(schema).find((name) => value[name] === undefined);
  if (missing !== undefined) return `${nameOf(join(path, missing))} is missing`;
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    const field = value[name];
    // Null for an optional field means "not said"; the tool itself reads it so.
    if (field === undefined || (field === null && !requiredOf(schema).includes(name))) continue;
    const fault = findFault(property, field, join(path, name));
    if (fault !== null) return fault;
  }
  return null;
}

function findItemFault(schema: JsonSchema, value: unknown, path: string): string | null {
  const items: unknown = schema["items"];
  if (!Array.isArray(value) || !isObject(items)) return null;
  for (const [index, item] of value.entries()) {
    const fault = findFault(items, item, `${path}[${index}]`);
    if (fault !== null) return fault;
  }
  return null;
}

/** A number written as text counts: tools clamp such values themselves (box §10.2). */
function fitsType(type: string, value: unknown): boolean {
  switch (type) {
    case "integer":
    case "number":
      return typeof value === "number" || (typeof value === "string" && /^\s*-?\d+(\.\d+)?\s*$/.test(value));
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "string":
    case "boolean":
      return typeof value === type;
    default:
      return true;
  }
}

function exampleOf(property: JsonSchema | undefined): unknown {
  const [type] = typesOf(property ?? {});
  switch (type) {
    case "integer":
    case "number":
      return 1;
    case "boolean":
      return true;
    case "array":
      return ["..."];
    case "object":
      return {};
    default:
      return "...";
  }
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const properties = schema["properties"];
  if (!isObject(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, property]) => (isObject(property) ? [[name, property]] : [])),
  );
}

function requiredOf(schema: JsonSchema): readonly string[] {
  const required: unknown = schema["required"];
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function typesOf(schema: JsonSchema): readonly string[] {
  const type: unknown = schema["type"];
  if (typeof type === "string") return [type];
  return Array.isArray(type) ? type.filter((name) => typeof name === "string") : [];
}

function withArticle(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function nameOf(path: string): string {
  return path === "" ? "the arguments" : `the field "${path}"`;
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
