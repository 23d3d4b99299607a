/** What contracts are put together from. */
import { z } from "zod";
import type { Answer, RouteContract } from "./route.js";

export const JSON_TYPE = "application/json";
export const FORM_TYPE = "multipart/form-data";
export const BYTES_TYPE = "application/octet-stream";
export const EVENTS_TYPE = "text/event-stream";

export const noQuery = z.strictObject({});
export const binary = z.string().meta({ format: "binary" });

/** Keeps the type of the query. */
export function contract<Query extends z.ZodObject>(route: RouteContract<Query>): RouteContract<Query> {
  return route;
}

export function json(description: string, schema: z.ZodType): Answer {
  return { description, content: { [JSON_TYPE]: schema } };
}

/** Answers of every route that sends a file. */
export const FILE_BYTES: RouteContract["answers"] = {
  200: { description: "The bytes.", content: { [BYTES_TYPE]: binary } },
  206: { description: "A range of the bytes.", content: { [BYTES_TYPE]: binary } },
  304: { description: "The client has these bytes already." },
};
