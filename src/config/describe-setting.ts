/** Says in words what a setting may be, from the same schema that checks it: for faults and for docs/settings.md. */
import { z } from "zod";
import type { SettingPath } from "./config-fault.js";

export type SchemaNode = z.core.JSONSchema.BaseSchema;

/** The schema of a file, as JSON Schema; `unit` and `allowed` of a setting stand beside its description. */
export function toSchemaNode(schema: z.ZodType): SchemaNode {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
}

/** The node that a path leads to; null where the schema knows no such setting. */
export function nodeAt(root: SchemaNode, path: SettingPath): SchemaNode | null {
  let node: SchemaNode | null = root;
  for (const part of path) {
    if (node === null) return null;
    node = typeof part === "number" ? itemsOf(node) : propertyOf(node, part);
  }
  return node;
}

/** What is allowed, as a phrase: "a whole number from 0 to 65535". */
export function describeAllowed(node: SchemaNode): string {
  const said = node["allowed"];
  if (typeof said === "string") return said;
  if (node.anyOf !== undefined) return describeUnion(node.anyOf.filter(isNode));
  if (node.const !== undefined) return String(node.const);
  if (node.enum !== undefined) return `one of ${node.enum.map(String).join(", ")}`;
  if (Array.isArray(node.type)) return describeUnion(node.type.map((type) => ({ ...node, type })));
  return describeType(node);
}

function describeType(node: SchemaNode): string {
  switch (node.type) {
    case "integer":
      return `a whole number${describeRange(node)}`;
    case "number":
      return `a number${describeRange(node)}`;
    case "boolean":
      return "true or false";
    case "string":
      return describeText(node);
    case "array":
      return describeList(node);
    case "null":
      return "null";
    case "object":
      return describeGroup(node);
    default:
      return "any value";
  }
}

function describeUnion(options: readonly SchemaNode[]): string {
  const texts = options.map(describeAllowed);
  return [...texts.filter((text) => text !== "null"), ...texts.filter((text) => text === "null")].join(
    " or ",
  );
}

function describeRange(node: SchemaNode): string {
  const least = bounded(node.minimum);
  const most = bounded(node.maximum);
  if (node.exclusiveMinimum !== undefined) {
    return ` above ${node.exclusiveMinimum}${most === null ? "" : ` and up to ${most}`}`;
  }
  if (least !== null && most !== null) return ` from ${least} to ${most}`;
  if (least !== null) return ` of at least ${least}`;
  return most === null ? "" : ` of at most ${most}`;
}

/** zod gives every whole number the bounds of a safe integer; those are no limit of ours. */
function bounded(limit: number | undefined): number | null {
  return limit === undefined || Math.abs(limit) >= Number.MAX_SAFE_INTEGER ? null : limit;
}

function describeText(node: SchemaNode): string {
  const { minLength, maxLength } = node;
  if (maxLength === undefined) return minLength === undefined ? "text" : "text that is not empty";
  return minLength === undefined
    ? `text of at most ${maxLength} characters`
    : `text of ${minLength} to ${maxLength} characters`;
}

function describeList(node: SchemaNode): string {
  const items = itemsOf(node);
  if (items?.enum !== undefined) return `a list of any of ${items.enum.map(String).join(", ")}`;
  const most = node.maxItems === undefined ? "" : `, at most ${node.maxItems}`;
  return `a list${items === null || items.type === "object" ? "" : ` of ${describeAllowed(items)}`}${most}`;
}

function describeGroup(node: SchemaNode): string {
  const names = Object.keys(node.properties ?? {});
  return names.length === 0 ? "a group of settings" : `a group with ${names.join(", ")}`;
}

function propertyOf(node: SchemaNode, name: string): SchemaNode | null {
  const own = Object.hasOwn(node.properties ?? {}, name)
    ? node.properties?.[name]
    : node.additionalProperties;
  return isNode(own) ? own : null;
}

function itemsOf(node: SchemaNode): SchemaNode | null {
  const { items } = node;
  return isNode(items) ? items : null;
}

function isNode(value: unknown): value is SchemaNode {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
