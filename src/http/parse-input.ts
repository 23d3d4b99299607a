/** Parses what came in with the schema of its border; the first fault is told with its field (api §1.7). */
import type { z } from "zod";
import { ServiceError } from "../domain/errors.js";

/** @throws ServiceError `request.invalid` whose `param` names the field */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: "body" | "query" | "headers",
): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue === undefined) throw new ServiceError("request.invalid", `The ${place} cannot be read.`);
  throw describeIssue(issue, place);
}

function describeIssue(issue: z.core.$ZodIssue, place: string): ServiceError {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    const fields = issue.keys.map((key) => [...path, key].join(".").slice(0, 200));
    const [first] = fields;
    const message = `The ${place} has ${fields.length === 1 ? "an unknown field" : "unknown fields"}: ${fields.join(", ").slice(0, 500)}.`;
    return new ServiceError("request.invalid", message, { param: first, hint: "Leave it out." });
  }
  const param = path.join(".").slice(0, 200);
  const name = param === "" ? `The ${place}` : `The field ${param}`;
  return new ServiceError("request.invalid", `${name} is not valid: ${lowerFirst(issue.message)}.`, {
    param: param === "" ? undefined : param,
  });
}

function lowerFirst(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`.replace(/\.$/, "");
}
