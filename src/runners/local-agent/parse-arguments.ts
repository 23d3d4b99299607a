/** Reads the arguments of a call without repairing anything (local-agent §7.1, §12.10). Pure. */
import { isCutJson, splitJsonObjects } from "../../lib/json-values.js";

export type JsonObject = Readonly<Record<string, unknown>>;

export type ParsedArguments =
  /** One object, or several one after the other; `asReceived` when the text is itself that object. */
  | { readonly kind: "objects"; readonly objects: readonly JsonObject[]; readonly asReceived: boolean }
  /** JSON, but not an object; `came` says what it is. */
  | { readonly kind: "not_object"; readonly came: string }
  /** The text stops inside a value. */
  | { readonly kind: "cut" }
  | { readonly kind: "invalid" };

export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { kind: "objects", objects: [{}], asReceived: false };
  const parsed = parseJson(text);
  if (parsed === undefined) return readSeveral(text);
  if (isObject(parsed)) return { kind: "objects", objects: [parsed], asReceived: true };
  if (typeof parsed === "string") {
    const inner = parseJson(parsed);
    if (isObject(inner)) return { kind: "objects", objects: [inner], asReceived: false };
  }
  return { kind: "not_object", came: describeJson(parsed) };
}

function readSeveral(text: string): ParsedArguments {
  const { objects, rest } = splitJsonObjects(text);
  const parsed = objects.map(parseJson).filter(isObject);
  if (rest.trim() === "" && parsed.length > 1 && parsed.length === objects.length)
    return { kind: "objects", objects: parsed, asReceived: false };
  return { kind: isCutJson(rest.trim() === "" ? text : rest) ? "cut" : "invalid" };
}

/** @returns undefined where the text is no JSON */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Names the kind of a JSON value for a sentence. */
export function describeJson(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return `a ${typeof value}`;
}
