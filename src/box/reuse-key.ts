/** Reuse keys: a template and its variables become the key and the identity of a session (box §2). */
import { createHash } from "node:crypto";
import { ServiceError } from "../domain/errors.js";
import { isWellFormed, measureText } from "../lib/code-points.js";
import { type KeyTemplate, parseTemplate, type TemplatePart } from "./key-template.js";

export interface ReuseKey {
  /** The template as it counts for the identity: `{global}` written out, double braces kept. */
  readonly template: string;
  /** Readable label, 1–1024 characters. */
  readonly key: string;
  /** sha256 hex that finds the session's record. */
  readonly identity: string;
}

/** Characters of a rendered key. */
export const MAX_KEY_LENGTH = 1024;

/**
 * Renders the template, or fails: a missing variable must never merge two chats into one box.
 * @param variables Values by name; what has no own entry is missing.
 * @throws ServiceError `session.template_invalid`; `session.variable_missing` for a missing, null or empty value;
 * `box.validation` for a value that is no text and no safe integer, and for a key that is too long
 */
export function renderReuseKey(
  template: string,
  variables: Readonly<Record<string, unknown>>,
  tenant: string,
): ReuseKey {
  const parsed = parseTemplate(template);
  const key = parsed.parts
    .map((part) =>
      part.kind === "literal" ? part.text : encodeValue(readValue(part.name, variables), parsed),
    )
    .join("");
  const length = measureText(key).chars;
  if (length > MAX_KEY_LENGTH)
    throw new ServiceError(
      "box.validation",
      `The reuse key has ${length} characters; the limit is ${MAX_KEY_LENGTH}.`,
      { hint: "Use shorter values or fewer variables in the session template.", details: { length } },
    );
  const identity = createHash("sha256")
    .update(JSON.stringify([tenant, parsed.canonical, key]))
    .digest("hex");
  return { template: parsed.canonical, key, identity };
}

/**
 * Reads the values back out of a rendered key, in the order of the template (box §2.4).
 * @returns null when the key was not rendered from this template
 */
export function readReuseKey(template: string, key: string): readonly (readonly [string, string])[] | null {
  const { parts } = parseTemplate(template);
  const values: [string, string][] = [];
  let rest = key;
  for (const [index, part] of parts.entries()) {
    if (part.kind === "literal") {
      if (!rest.startsWith(part.text)) return null;
      rest = rest.slice(part.text.length);
      continue;
    }
    const end = findValueEnd(rest, parts[index + 1]);
    if (end <= 0) return null;
    const value = decodeValue(rest.slice(0, end));
    if (value === null) return null;
    values.push([part.name, value]);
    rest = rest.slice(end);
  }
  return rest === "" ? values : null;
}

/**
 * A plain key as a template without variables (box §2.6).
 * @throws ServiceError `box.validation` for a key that is empty, longer than 1024 characters or no valid Unicode
 */
export function keyAsTemplate(key: string): string {
  const length = measureText(key).chars;
  if (length < 1 || length > MAX_KEY_LENGTH)
    throw new ServiceError(
      "box.validation",
      `A reuse key has 1 to ${MAX_KEY_LENGTH} characters; this one has ${length}.`,
      { param: "reuse_key", details: { length } },
    );
  if (!isWellFormed(key))
    throw new ServiceError("box.validation", "The reuse key is not valid Unicode text.", {
      param: "reuse_key",
    });
  return key.replaceAll("{", "{{").replaceAll("}", "}}");
}

function readValue(name: string, variables: Readonly<Record<string, unknown>>): string {
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
  if (value === undefined || value === null || value === "")
    throw new ServiceError(
      "session.variable_missing",
      `The session template needs the variable "${name}", which is ${value === "" ? "empty" : "missing"}.`,
      { hint: `Send a value for "${name}", or use a template without it.`, details: { variable: name } },
    );
  if (typeof value === "string" && isWellFormed(value)) return value;
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
  throw new ServiceError(
    "box.validation",
    `The variable "${name}" of the session template is ${describeValue(value)}; text and integers within ±(2^53 − 1) can be used.`,
    { details: { variable: name } },
  );
}

function describeValue(value: unknown): string {
  if (typeof value === "string") return "not valid Unicode text";
  if (typeof value === "number")
    return Number.isInteger(value) ? "an integer beyond that range" : "not an integer";
  return Array.isArray(value) ? "a list" : `of the type ${typeof value}`;
}

function encodeValue(value: string, template: KeyTemplate): string {
  return Array.from(value, (character) =>
    template.encoded.has(character) ? percentEncode(character) : character,
  ).join("");
}

function percentEncode(character: string): string {
  return [...new TextEncoder().encode(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}

function decodeValue(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

/** Values never hold a separator of a literal, so the first one marks where the literal stands. */
function findValueEnd(rest: string, next: TemplatePart | undefined): number {
  if (next?.kind !== "literal") return rest.length;
  if (next.separator === null) return rest.length - next.text.length;
  const found = rest.indexOf(next.separator.sign);
  return found < 0 ? -1 : found - next.separator.at;
}

/** @throws ServiceError as `keyAsTemplate` */
export function plainReuseKey(key: string, tenant: string): ReuseKey {
  return renderReuseKey(keyAsTemplate(key), {}, tenant);
}
