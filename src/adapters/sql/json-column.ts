/** JSON in text columns: written as it is, read through the schema that guards its border. */
import type { z } from "zod";
import { ServiceError } from "../../domain/errors.js";

export function writeJson(value: unknown): string {
  return JSON.stringify(value);
}

export function writeNullableJson(value: unknown): string | null {
  return value === null ? null : writeJson(value);
}

/** @throws ServiceError `internal` when the stored text is not what we write there */
export function readJson<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new ServiceError("internal", "A stored record does not have the shape it was written with.", {
      cause: error,
    });
  }
}

export function readNullableJson<Schema extends z.ZodType>(
  schema: Schema,
  text: string | null,
): z.output<Schema> | null {
  return text === null ? null : readJson(schema, text);
}
