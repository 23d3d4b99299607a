/** Tool input: one zod schema per tool gives both what the model is told and how its arguments are read (box §13). */
import { z } from "zod";
import type { JsonSchema } from "../domain/tool.js";

/** The keywords that a built-in schema may use (local-agent §5.2). */
const KEYWORDS = ["type", "description", "enum", "items", "properties", "required"] as const;

const FAR = Number.MAX_SAFE_INTEGER;

export type ParsedInput<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: string };

/** A text that must be there. */
export function text(description: string): z.ZodString {
  return z.string().meta({ description });
}

/** A text that may be missing or null. */
export function optionalText(description: string): z.ZodType<string | undefined> {
  return z
    .preprocess((value) => value ?? undefined, z.string().optional())
    .meta({ type: "string", description });
}

/** One of the words; the first one if it is missing or null. */
export function choice<const Words extends readonly [string, ...string[]]>(
  words: Words,
  description: string,
): z.ZodType<Words[number]> {
  return z
    .preprocess((value) => value ?? words[0], z.enum(words).optional())
    .transform((value) => value ?? words[0])
    .meta({ type: "string", enum: [...words], description });
}

/**
 * A whole number from 1 to `max`: what is not positive becomes the fallback, what is above the maximum becomes the
 * maximum, a fraction is cut off, a number written as text counts as that number.
 */
export function count(
  limits: { readonly fallback: number; readonly max: number },
  description: string,
): z.ZodType<number> {
  return optionalNumber(description).transform((value) => {
    const whole = Math.floor(value ?? 0);
    return whole >= 1 ? Math.min(whole, limits.max) : limits.fallback;
  });
}

/** A place in a file, from 0 on; what is negative counts as 0. */
export function position(description: string): z.ZodType<number> {
  return optionalNumber(description).transform((value) => Math.max(Math.floor(value ?? 0), 0));
}

/** A number, or a number written as text; undefined where it is missing or null. */
export function optionalNumber(description: string): z.ZodType<number | undefined> {
  return z
    .preprocess(readNumber, z.number("expected a number").optional())
    .meta({ type: "integer", description });
}

/** True or false, also as text; undefined where it is missing or null. */
export function optionalFlag(description: string): z.ZodType<boolean | undefined> {
  return z
    .preprocess(readFlag, z.boolean("expected true or false").optional())
    .meta({ type: "boolean", description });
}

/** The schema for the model: `$schema`, defaults, limits and `additionalProperties` are left out (local-agent §5.2). */
export function toolParameters(schema: z.ZodObject): JsonSchema {
  return keepKeywords(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
}

/** @returns the values, or one sentence that names the tool and every field at fault; unknown fields are ignored */
export function parseInput<Schema extends z.ZodObject>(
  tool: string,
  schema: Schema,
  input: Readonly<Record<string, unknown>>,
): ParsedInput<z.output<Schema>> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return { ok: true, value: parsed.data };
  const faults = parsed.error.issues.map(
    (issue) => `${fieldName(issue.path)}: ${issue.message.replace(/^Invalid (input|option): /, "")}`,
  );
  return { ok: false, error: `Invalid input for ${tool}: ${faults.join("; ")}.` };
}

function readFlag(value: unknown): unknown {
  if (value === null) return undefined;
  return value === "true" || value === "false" ? value === "true" : value;
}

function readNumber(value: unknown): unknown {
  if (value === null) return undefined;
  const number = typeof value === "string" && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
  // `1e999` is legal JSON and becomes Infinity: a number above every maximum.
  return typeof number === "number" ? Math.min(Math.max(number, -FAR), FAR) : number;
}

function fieldName(path: readonly PropertyKey[]): string {
  return path
    .map((part, i) => (typeof part === "number" ? `[${part}]` : `${i > 0 ? "." : ""}${String(part)}`))
    .join("");
}

function keepKeywords(schema: object): JsonSchema {
  const all = new Map<string, unknown>(Object.entries(schema));
  return Object.fromEntries(
    KEYWORDS.flatMap((keyword) => {
      const value = all.get(keyword);
      if (value === undefined) return [];
      return [[keyword, keyword === "properties" ? keepEach(value) : keepBelow(value)]];
    }),
  );
}

function keepEach(properties: unknown): JsonSchema {
  const entries = Object.entries(isPlainObject(properties) ? properties : {});
  return Object.fromEntries(entries.map(([name, property]) => [name, keepBelow(property)]));
}

function keepBelow(value: unknown): unknown {
  return isPlainObject(value) ? keepKeywords(value) : value;
}

function isPlainObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
