/** Reads a run's event stream over HTTP. */
import { EventSourceParserStream } from "eventsource-parser/stream";
import { z } from "zod";

const eventSchema = z.object({
  type: z.string(),
  data: z.record(z.string(), z.unknown()),
  run_id: z.string(),
  sequence: z.number().int(),
  timestamp: z.string(),
});
export type ReadEvent = z.infer<typeof eventSchema>;

/** Posts a message and reads its stream to the end. @throws when an event's id or name differs from its data */
export async function readEvents(
  url: string,
  message: Readonly<Record<string, unknown>>,
): Promise<readonly ReadEvent[]> {
  const response = await fetch(`${url}/v1/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(message),
  });
  return readStream(response);
}

export async function readStream(response: Response): Promise<readonly ReadEvent[]> {
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const events: ReadEvent[] = [];
  for await (const event of streamEvents(response)) events.push(event);
  return events;
}

export async function* streamEvents(response: Response): AsyncGenerator<ReadEvent, void> {
  if (response.body === null) throw new Error("The answer has no body.");
  const messages = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const message of messages) {
    const event = eventSchema.parse(JSON.parse(message.data));
    if (message.id !== String(event.sequence) || message.event !== event.type)
      throw new Error(`The event ${message.id} ${message.event} names itself otherwise inside.`);
    yield event;
  }
}

/** The data of an event; empty for none, so that an assertion shows what is missing. */
export function eventData(event: ReadEvent | undefined): Readonly<Record<string, unknown>> {
  return event?.data ?? {};
}
