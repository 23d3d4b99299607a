import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HttpService, json, startHttpService } from "../../support/http-service.js";
import { readError, readEvents } from "../../support/read-answer.js";

let service: HttpService;
beforeEach(async () => {
  service = await startHttpService();
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

const CHAT = { launcher_type: "group", launcher_id: "g1" };
const JOINED = { event_type: "group.member_joined", chat: CHAT };

const post = (body: unknown, headers: Record<string, string> = {}) => {
  const request = json(body);
  return service.fetch("/v1/events", { ...request, headers: { ...request.headers, ...headers } });
};

describe("POST /v1/events", () => {
  it("answers 200 with the finished run", async () => {
    const response = await post(JOINED);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ object: "run", status: "completed", chat: CHAT });
  });

  it("hands on what the event says", async () => {
    const contents = [{ type: "text", text: "Let me in" }];
    await post({
      event_type: "friend.request_received",
      pipeline: "door",
      actor: { id: "7", name: "Bo" },
      subject: { id: "r1", data: { via: { kind: "search" } } },
      input: { contents, message_chain: contents },
      data: { attempts: 2 },
      event_time: 1_700_000_000_000,
      source_event_type: "friend.add",
      variables: { lang: "en" },
    });
    expect(service.runs.requests).toMatchObject([
      {
        pipeline: "door",
        chat: null,
        text: null,
        contents,
        messageChain: contents,
        variables: { lang: "en" },
        event: {
          type: "friend.request_received",
          time: 1_700_000_000_000,
          sourceType: "friend.add",
          actor: { actor_type: "user", id: "7", name: "Bo" },
          subject: { type: null, id: "r1", data: { via: { kind: "search" } } },
          data: { attempts: 2 },
        },
      },
    ]);
  });

  it("answers 202 at once, or streams, as a message does", async () => {
    expect((await post({ ...JOINED, wait: false })).status).toBe(202);
    const events = await readEvents(await post({ ...JOINED, stream: true }));
    expect(events.map(({ event }) => event)).toContain("run.completed");
    expect(service.runs.requests.map(({ surface }) => surface)).toEqual(["rest", "sse"]);
  });

  it("knows a repeated event by its key", async () => {
    const first = await post(JOINED, { "idempotency-key": "k" });
    const again = await post(JOINED, { "idempotency-key": "k" });
    expect(await again.json()).toEqual(await first.json());
    expect(service.runs.requests[0]?.idempotency).toMatchObject({ key: "k" });
  });

  it.each([
    ["a type that no one knows", { event_type: "group.renamed" }, "event_type"],
    ["the reserved type", { event_type: "interaction.submitted", chat: CHAT }, "event_type"],
    ["a message without a chat", { event_type: "message.received", input: { text: "Hi" } }, "chat"],
    ["a message that says nothing", { event_type: "message.received", chat: CHAT }, "input"],
    ["a time before all times", { ...JOINED, event_time: -1 }, "event_time"],
    ["a field that is not known", { ...JOINED, platform: {} }, "platform"],
    ["a field of the actor that is not known", { ...JOINED, actor: { uuid: "7" } }, "actor.uuid"],
  ])("refuses %s", async (_what, body, param) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await readError(response)).toMatchObject({ code: "request.invalid", param });
    expect(service.runs.requests).toEqual([]);
  });

  it("says that the reserved type is reserved", async () => {
    const error = await readError(await post({ event_type: "interaction.submitted" }));
    expect(error.message).toContain("interaction.submitted is reserved");
  });

  it("needs a key", async () => {
    const response = await service.fetch("/v1/events", { ...json(JOINED), key: null });
    expect(response.status).toBe(401);
  });
});
