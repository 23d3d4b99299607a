/**
 * Model server of `bench:runs`, in a process of its own: five rounds with one call of `add` each, then a text, and for
 * each run the time that it took itself. Prints its address; `GET /times` gives the times by number of run.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { z } from "zod";
import { LAST_WORDS } from "./lib/bench-worker.js";

const ROUNDS = 5;
const PIECES = [LAST_WORDS, ...Array.from({ length: 19 }, (_none, i) => `, and this is piece ${i}`)];
const USAGE = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
const requestSchema = z.object({
  stream: z.boolean().optional(),
  messages: z.array(z.object({ role: z.string() })),
});
const FRAME = { id: "chatcmpl-bench", created: 1_700_000_000, model: "scripted" };

/** Milliseconds by number of run. */
const times = new Map<string, number>();

function callOf(round: number) {
  const input = JSON.stringify({ a: round, b: round });
  return { id: `call_${round}`, type: "function", function: { name: "add", arguments: input } };
}

function wholeAnswer(round: number): string {
  const isLast = round === ROUNDS;
  const message = isLast
    ? { role: "assistant", content: PIECES.join("") }
    : { role: "assistant", content: null, tool_calls: [callOf(round)] };
  const choice = { index: 0, message, finish_reason: isLast ? "stop" : "tool_calls" };
  return JSON.stringify({ ...FRAME, object: "chat.completion", choices: [choice], usage: USAGE });
}

function toFrame(choices: readonly object[], more: object = {}): string {
  return `data: ${JSON.stringify({ ...FRAME, object: "chat.completion.chunk", choices, ...more })}\n\n`;
}

function streamedAnswer(round: number): readonly string[] {
  const isLast = round === ROUNDS;
  const deltas = isLast
    ? PIECES.map((content) => ({ role: "assistant", content }))
    : [{ role: "assistant", content: null, tool_calls: [{ index: 0, ...callOf(round) }] }];
  return [
    ...deltas.map((delta) => toFrame([{ index: 0, delta, finish_reason: null }])),
    toFrame([{ index: 0, delta: {}, finish_reason: isLast ? "stop" : "tool_calls" }]),
    toFrame([], { usage: USAGE }),
    "data: [DONE]\n\n",
  ];
}

const rounds = Array.from({ length: ROUNDS + 1 }, (_none, round) => round);
const WHOLE = rounds.map(wholeAnswer);
const STREAMED = rounds.map(streamedAnswer);

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === "/times") {
    response.end(JSON.stringify([...times]));
    times.clear();
    return;
  }
  const bytes = await buffer(request);
  const begun = performance.now();
  const text = bytes.toString();
  const [, run = ""] = /run-(\d+)/.exec(text) ?? [];
  response.once("finish", () => times.set(run, (times.get(run) ?? 0) + performance.now() - begun));
  const { stream = false, messages } = requestSchema.parse(JSON.parse(text));
  const round = messages.filter(({ role }) => role === "tool").length;
  response.setHeader("content-type", stream ? "text/event-stream" : "application/json");
  if (!stream) response.end(WHOLE[round]);
  else {
    for (const frame of STREAMED[round] ?? []) response.write(frame);
    response.end();
  }
}

const server = createServer((request, response) => void answer(request, response));
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") process.send?.(`http://127.0.0.1:${address.port}`);
});
process.on("disconnect", () => process.exit());
