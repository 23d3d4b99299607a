/** Parses what came in with the schema of its border; the first fault is told with its field (api §1.7). */
import type { z } from "zod";
import { ServiceError } from "../domain/errors.js";

type Place = "body" | "query" | "headers" | "form";

/** What a place calls its fields. */
const FIELD_WORDS: Readonly<Record<Place, string>> = {
  body: "field",
  query: "query parameter",
  headers: "header",
  form: "part",
};

/** @throws ServiceError `request.invalid` whose `param` names the field */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: Place,
): z.infer<Schema> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  // A misspelt field is unknown and its right name missing: the name that was written tells more.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  if (issue === undefined) throw new ServiceError("request.invalid", `The ${place} cannot be read.`);
  throw describeIssue(issue, place);
}

function describeIssue(issue: z.core.$ZodIssue, place: Place): ServiceError {
  const path = issue.path.map(String);
  const word = FIELD_WORDS[place];
  if (issue.code === "unrecognized_keys") {
    const fields = issue.keys.map((key) => [...path, key].join(".").slice(0, 200));
    const [first] = fields;
    const message = `The ${place} has ${fields.length === 1 ? `an unknown ${word}` : `unknown ${word}s`}: ${fields.join(", ").slice(0, 500)}.`;
    const hint = "Correct its name or leave it out; /openapi.json lists what is known.";
    return new ServiceError("request.invalid", message, { param: first, hint });
  }
  const param = path.join(".").slice(0, 200);
  const name = param === "" ? `The ${place}` : `The ${word} ${param}`;
  return new ServiceError(
    "request.invalid",
    `${name} is ${issue.input === undefined ? "missing" : "not valid"}: ${explain(issue.message)}.`,
    { param: param === "" ? undefined : param },
  );
}

/** Without the schema library's heading, and without what stands for "nothing" and "no number" in its language. */
function explain(message: string): string {
  const text = message
    .replace(/^(Invalid input|Invalid option|Too small|Too big): /, "")
    .replace(/, received (undefined|NaN)$/, "");
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`.replace(/\.$/, "");
}
