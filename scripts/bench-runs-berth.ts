/** The service doing the runs of `bench:runs`; started by it with a way and the address of the model server. */
import { once } from "node:events";
import { z } from "zod";
import { CleanupStack } from "../src/lib/cleanup-stack.js";
import type { BenchedService } from "./lib/bench-berth.js";
import { startBenchedService } from "./lib/bench-berth.js";
import { promptOf, serveOrders } from "./lib/bench-worker.js";

const [, , way = "", modelUrl = ""] = process.argv;
const CALLER = { tenant: "main", role: "admin" } as const;
const FOREVER = { signal: new AbortController().signal };
const answerSchema = z.object({ message: z.object({ content: z.string() }) });

/** Every run has a chat of its own, as every run of the others has a conversation of its own. */
function chatOf(run: number) {
  return { launcher_type: "person", launcher_id: `user-${run}` };
}

function inProcess({ runs }: BenchedService) {
  const rest = { sender_id: null, sender_name: null, bot_id: null, conversation_id: null, thread_id: null };
  return async (number: number, isStream: boolean): Promise<string> => {
    const request = {
      pipeline: null,
      chat: { ...chatOf(number), ...rest },
      text: promptOf(number),
      contents: [],
      variables: {},
      surface: isStream ? ("sse" as const) : ("rest" as const),
      onDisconnect: "continue" as const,
      idempotency: null,
    };
    const { run } = await runs.admit(request, CALLER, FOREVER);
    if (!isStream) return answerSchema.parse(await runs.wait(CALLER, run.id, FOREVER)).message.content;
    let text = "";
    const events = await runs.follow(CALLER, { id: run.id, after: 0 }, FOREVER);
    for await (const { type, data } of events) if (type === "run.completed") text = JSON.stringify(data);
    return text;
  };
}

function overHttp({ url }: BenchedService) {
  return async (number: number, isStream: boolean): Promise<string> => {
    const response = await fetch(`${url}/v1/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        chat: chatOf(number),
        input: { contents: [{ type: "text", text: promptOf(number) }] },
        stream: isStream,
      }),
    });
    return response.text();
  };
}

async function main(): Promise<void> {
  await using life = new CleanupStack();
  const service = await startBenchedService(modelUrl, life);
  const gone = once(process, "disconnect");
  serveOrders(way === "berth" ? inProcess(service) : overHttp(service));
  await gone;
}

await main();
