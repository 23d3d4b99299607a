/** Reads what the service answered, by its own schemas. */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { z } from "zod";
import { errorSchema } from "../../src/http/schemas/operation-bodies.js";

/** All events of a stream that ends. */
export async function readEvents(response: Response): Promise<EventSourceMessage[]> {
  const events: EventSourceMessage[] = [];
  createParser({ onEvent: (event) => events.push(event) }).feed(await response.text());
  return events;
}

/** The first bytes of a body, as text; the rest is left unread. */
export async function readFirst(response: Response): Promise<string> {
  const reader = (response.body ?? new ReadableStream()).getReader();
  const first = z.object({ value: z.instanceof(Uint8Array) }).parse(await reader.read());
  await reader.cancel();
  return new TextDecoder().decode(first.value);
}

/** The error of an answer that has the envelope; fails for any other body. */
export async function readError(response: Response): Promise<z.infer<typeof errorSchema>["error"]> {
  return z.strictObject({ error: errorSchema.shape.error.strict() }).parse(await response.json()).error;
}
