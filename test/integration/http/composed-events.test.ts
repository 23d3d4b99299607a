/** Events through the composed service: its own agent, its own database, one execution path with messages. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { runSchema } from "../../../src/domain/run.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { ScriptedModel, text } from "../../fakes/scripted-model.js";
import { type ComposedService, onePipeline, standIn, startService } from "../../support/composed-service.js";
import { json } from "../../support/http-service.js";
import { noisePng } from "../../support/png.js";
import { readError } from "../../support/read-answer.js";
import { textLike } from "../../support/text-like.js";

let service: ComposedService | null = null;
afterEach(async () => {
  await service?.[Symbol.asyncDispose]();
  service = null;
});

const ALL = { events: ["message.received", "message.recalled", "group.member_joined"] };
const GROUP = { launcher_type: "group", launcher_id: "g1", sender_id: "7", sender_name: "Bo" };

async function begin(answers: readonly string[], pipeline: object = ALL): Promise<ScriptedModel> {
  const model = new ScriptedModel(answers.map((answer) => text(answer)));
  service = await startService({
    models: new Map([["m1", model]]),
    backend: new FakeBoxBackend(),
    settings: { models: [standIn("m1")], pipelines: [{ ...onePipeline("m1"), ...pipeline }] },
  });
  return model;
}

async function post(path: string, body: unknown): Promise<Response> {
  if (service === null) throw new Error("The service was not started.");
  return service.fetch(path, json(body));
}

async function databaseText(): Promise<string> {
  const directory = join(service?.directory ?? "", "data");
  const names = (await readdir(directory)).filter((name) => name.startsWith("berth.db"));
  return (await Promise.all(names.map((name) => readFile(join(directory, name), "latin1")))).join("");
}

describe("an event of a chat", () => {
  it("is answered in the conversation of the chat, and is no message of the user there", async () => {
    using model = await begin(["Welcome, Bo.", "As I said: welcome."]);
    const joined = await post("/v1/events", {
      event_type: "group.member_joined",
      chat: GROUP,
      data: { count: 3 },
    });
    const run = runSchema.parse(await joined.json());
    expect(run).toMatchObject({ status: "completed", chat: GROUP, message: { content: "Welcome, Bo." } });
    expect(model.requests[0]?.messages.at(-1)?.content).toContain('"event_type":"group.member_joined"');
    await post("/v1/runs", { chat: GROUP, input: { text: "What did you say?" } });
    const history = (model.requests[1]?.messages ?? []).filter(({ role }) => role !== "system");
    expect(history).toMatchObject([
      { role: "assistant", content: "Welcome, Bo." },
      { role: "user", content: textLike(/What did you say\?/) },
    ]);
  });

  it("leaves the base64 of its files in no record", async () => {
    using _model = await begin(["Seen."]);
    const data = Buffer.concat([noisePng(20, 20), Buffer.from("canary of the event ".repeat(50))]).toString(
      "base64",
    );
    const picture = { type: "image_base64", name: "a.png", data };
    const answer = await post("/v1/events", {
      event_type: "message.recalled",
      chat: GROUP,
      subject: { id: "m1", data: { preview: `data:image/png;base64,${data}`, raw: [data] } },
      input: { contents: [picture], message_chain: [picture] },
      data: { preview: data, summary: "One picture was taken back." },
    });
    expect(runSchema.parse(await answer.json())).toMatchObject({
      status: "completed",
      attachments: [{ name: "a.png", mime_type: "image/png" }],
    });
    const records = await databaseText();
    expect(records).toContain("One picture was taken back.");
    expect(records).toContain("inline content left out");
    for (let at = 0; at + 40 < data.length; at += 97)
      expect(records.includes(data.slice(at, at + 40))).toBe(false);
  });
});

describe("an event without a chat", () => {
  it("is refused where its box needs one, and runs where it does not", async () => {
    const lone = {
      event_type: "friend.request_received",
      pipeline: "default",
      input: { text: "Hi, it is Bo" },
    };
    using _model = await begin([]);
    const refused = await post("/v1/events", lone);
    expect(refused.status).toBe(400);
    expect(await readError(refused)).toMatchObject({ code: "session.variable_missing" });
    await service?.[Symbol.asyncDispose]();
    using model = await begin(["Accepted."], onePipeline("m1", { "box-enabled": false }));
    const run = runSchema.parse(await (await post("/v1/events", lone)).json());
    expect(run).toMatchObject({ status: "completed", chat: null, session: null });
    expect(model.requests[0]?.messages.at(-1)?.content).toContain("Hi, it is Bo");
  });

  it("finds no pipeline where none listens", async () => {
    using _model = await begin([]);
    const answer = await post("/v1/events", { event_type: "friend.request_received" });
    expect(answer.status).toBe(404);
    expect(await readError(answer)).toMatchObject({ code: "pipeline.not_found" });
  });
});
