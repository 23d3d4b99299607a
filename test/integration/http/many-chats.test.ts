/** The composed service under many chats at once, and streams that are cut wherever they can be. */
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { messageText } from "../../../src/domain/message.js";
import { runSchema } from "../../../src/domain/run.js";
import { steeredMessageSchema } from "../../../src/domain/steering.js";
import type { ChatChunk, ChatModel, ChatReply, ChatRequest } from "../../../src/ports/chat-model.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { calls, ScriptedModel, text } from "../../fakes/scripted-model.js";
import { type ComposedService, onePipeline, standIn, startService } from "../../support/composed-service.js";
import { json } from "../../support/http-service.js";
import { readStream } from "../../support/read-events.js";

const CHATS = 100;
const MESSAGES = 5;

let service: ComposedService | null = null;
afterEach(async () => {
  await service?.[Symbol.asyncDispose]();
  service = null;
});

/** Answers with the texts of the user messages that no answer stands behind. */
class EchoModel implements ChatModel {
  async complete({ messages }: ChatRequest): Promise<ChatReply> {
    const answered = messages.findLastIndex(({ role }) => role === "assistant");
    const open = messages.slice(answered + 1).filter(({ role }) => role === "user");
    const said = open.map((message) => /m\d/.exec(messageText(message))?.[0] ?? "?").join(" ");
    return { text: said, reasoning: null, calls: [], extra: {}, finishReason: "stop", usage: null };
  }

  async *stream(request: ChatRequest): AsyncGenerator<ChatChunk, void> {
    yield { text: (await this.complete(request)).text ?? "", finishReason: "stop" };
  }
}

async function begin(model: ChatModel): Promise<ComposedService> {
  service = await startService({
    models: new Map([["m1", model]]),
    backend: new FakeBoxBackend(),
    settings: {
      models: [standIn("m1")],
      pipelines: [onePipeline("m1")],
      limits: { requests_per_minute: 1_000_000, runs_per_minute: 1_000_000 },
      log: { level: "warn" },
    },
  });
  return service;
}

const answerSchema = z.union([runSchema, steeredMessageSchema]);

describe("100 chats with 5 messages each, all at once", () => {
  it("answers every message, in order in each chat", async () => {
    const running = await begin(new EchoModel());
    const send = async (chat: number, index: number): Promise<string> => {
      const body = { chat: { launcher_id: `${chat}` }, input: { text: `m${index}` }, wait: false };
      const response = await running.fetch("/v1/runs", json(body));
      if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
      return answerSchema.parse(await response.json()).id;
    };
    const chats = await Promise.all(
      Array.from({ length: CHATS }, async (_chat, chat) => {
        const ids: string[] = [];
        for (let index = 0; index < MESSAGES; index += 1) ids.push(await send(chat, index));
        return ids;
      }),
    );
    const answers = await Promise.all(chats.map((ids) => Promise.all(ids.map((id) => settle(id)))));
    const wanted = Array.from({ length: MESSAGES }, (_message, index) => `m${index}`);
    for (const given of answers) {
      const texts = [...new Set(given)].flatMap((answer) => answer.split(/\s+/));
      expect(texts).toEqual(wanted);
    }
  }, 120_000);
});

/** The text that answers a message: of its own run, or of the one that absorbed it. */
async function settle(id: string): Promise<string> {
  for (;;) {
    const response = await service?.fetch(`/v1/runs/${id}`);
    const run = answerSchema.parse(await response?.json());
    if (run.status === "steered") {
      if (run.place === "history") return settle(run.absorbed_by);
    } else if (run.status === "completed") return run.message?.content ?? "";
    else if (run.status !== "queued" && run.status !== "running")
      throw new Error(`The run ${id} is ${run.status}.`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

describe("a stream that is cut at every event and resumed", () => {
  it("gives the same data, byte for byte, as the one that is not cut", async () => {
    const pieces = ["Here ", "is ", "a ", "longer ", "answer, 🎉 ", "in 报告 ", "pieces."];
    using model = new ScriptedModel([calls([{ name: "look_for_nothing" }]), text(pieces.join(""))]);
    const running = await begin(model);
    const body = { chat: { launcher_id: "42" }, input: { text: "Go" }, stream: true };
    const whole = await readStream(await running.fetch("/v1/runs", json(body)));
    const id = whole[0]?.run_id ?? "";
    expect(whole.length).toBeGreaterThan(5);
    const bytes = whole.map((event) => JSON.stringify(event));
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const headers = { "last-event-id": `${cut}` };
      const response = await running.fetch(`/v1/runs/${id}/events`, { headers });
      const rest = (await readStream(response)).map((event) => JSON.stringify(event));
      expect([...bytes.slice(0, cut), ...rest]).toEqual(bytes);
    }
  });
});
