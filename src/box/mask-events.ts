/** Output without the secrets that the service knows, as it comes (box §10.7). */
import type { SecretMask } from "../lib/secret-mask.js";
import type { ExecEvent } from "../ports/box-handle.js";

const STREAMS = ["stdout", "stderr"] as const;

/** An end that may be the beginning of a secret is held back until more comes, or the exit. */
export async function* maskEvents(
  events: AsyncIterable<ExecEvent>,
  mask: SecretMask,
): AsyncGenerator<ExecEvent, void> {
  const masks = { stdout: mask.byteStream(), stderr: mask.byteStream() };
  for await (const event of events)
    if (event.type === "output") yield { ...event, bytes: masks[event.stream].push(event.bytes) };
    else {
      for (const stream of STREAMS) yield { type: "output", stream, bytes: masks[stream].end() };
      yield event;
    }
}
