import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/domain/errors.js";
import { runListSchema } from "../../../src/http/schemas/run-bodies.js";
import {
  CLIENT_KEY,
  HELLO,
  type HttpService,
  json,
  OTHER_KEY,
  startHttpService,
} from "../../support/http-service.js";
import { readError, readEvents, readFirst } from "../../support/read-answer.js";

let service: HttpService;
beforeEach(async () => {
  service = await startHttpService();
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

const post = (body: unknown, headers: Record<string, string> = {}) => {
  const request = json(body);
  return service.fetch("/v1/runs", { ...request, headers: { ...request.headers, ...headers } });
};

function form(...files: readonly [string, string, string?][]): FormData {
  const data = new FormData();
  data.append("request", JSON.stringify({ chat: { launcher_id: "42" }, input: {} }));
  for (const [name, content, type] of files)
    data.append("file", new File([content], name, { type: type ?? "" }));
  return data;
}

function sendWithKey(content: string): Promise<Response> {
  const headers = { "idempotency-key": "k" };
  return service.fetch("/v1/runs", { method: "POST", body: form(["a", content]), headers });
}

async function eventIds(path: string, headers = {}): Promise<(string | undefined)[]> {
  return (await readEvents(await service.fetch(path, { headers }))).map(({ id }) => id);
}

async function* noEvents(): AsyncGenerator<never> {
  yield* [];
}

async function* brokenEvents(): AsyncGenerator<never> {
  yield* [];
  throw new Error("canary at /host/path");
}

describe("POST /v1/runs", () => {
  it("answers 200 with the finished run when it waits", async () => {
    const response = await post(HELLO);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      id: "run_1",
      object: "run",
      status: "completed",
      chat: { launcher_type: "person", launcher_id: "42", sender_id: null },
      message: { content: "Hello" },
    });
  });

  it("answers 200 with a run that failed: the failure is in the run", async () => {
    service.runs.outcome = "failed";
    const response = await post(HELLO);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: "failed" });
  });

  it("answers 202 with the queued run at once when it does not wait", async () => {
    service.runs.outcome = "later";
    const response = await post({ ...HELLO, wait: false });
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ status: "queued" });
  });

  it("answers 202 for a message that waits behind another run of its conversation", async () => {
    service.runs.isBusy = true;
    const response = await post(HELLO);
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ status: "queued" });
  });

  it("streams numbered events and ends with the terminal one", async () => {
    const response = await post({ ...HELLO, stream: true });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    const events = await readEvents(response);
    expect(events.map(({ id, event }) => [id, event])).toEqual([
      ["1", "run.started"],
      ["2", "message.delta"],
      ["3", "run.completed"],
    ]);
    expect(JSON.parse(events[2]?.data ?? "")).toMatchObject({
      type: "run.completed",
      run_id: "run_1",
      sequence: 3,
      data: { object: "run", status: "completed" },
    });
  });

  it("hands the message on as it came: contents in order, bytes out of the way", async () => {
    await post({
      pipeline: "other",
      chat: { launcher_type: "group", launcher_id: "g", thread_id: "t" },
      input: {
        text: null,
        contents: [
          { type: "text", text: "a" },
          { type: "file_base64", name: "t.csv", mime_type: "text/csv", data: "YQ==", path: "/etc/passwd" },
          { type: "image_url", url: "data:image/png;base64,YQ==" },
          { type: "voice_url", url: "https://example.com/v.ogg" },
          { type: "file_id", file_id: "file_9", mime_type: "audio/ogg" },
        ],
      },
      variables: { lang: "en" },
      on_disconnect: "cancel",
    });
    expect(service.runs.requests[0]).toEqual({
      pipeline: "other",
      chat: {
        launcher_type: "group",
        launcher_id: "g",
        thread_id: "t",
        sender_id: null,
        sender_name: null,
        bot_id: null,
        conversation_id: null,
      },
      text: null,
      contents: [
        { type: "text", text: "a" },
        {
          type: "attachment",
          kind: "file",
          name: "t.csv",
          mimeType: "text/csv",
          source: { kind: "base64", data: "YQ==" },
        },
        {
          type: "attachment",
          kind: "image",
          name: null,
          mimeType: null,
          source: { kind: "base64", data: "data:image/png;base64,YQ==" },
        },
        {
          type: "attachment",
          kind: "voice",
          name: null,
          mimeType: null,
          source: { kind: "url", url: "https://example.com/v.ogg" },
        },
        {
          type: "attachment",
          kind: "voice",
          name: null,
          mimeType: "audio/ogg",
          source: { kind: "file", fileId: "file_9" },
        },
      ],
      variables: { lang: "en" },
      surface: "rest",
      onDisconnect: "cancel",
      idempotency: null,
    });
  });

  it("gives the same run for the same idempotency key and body, and 409 for another body", async () => {
    const first = await post(HELLO, { "idempotency-key": "k1" });
    const again = await post(HELLO, { "idempotency-key": "k1" });
    expect(await again.json()).toEqual(await first.json());
    const other = await post({ ...HELLO, variables: { a: 1 } }, { "idempotency-key": "k1" });
    expect(other.status).toBe(409);
    expect(await other.json()).toMatchObject({
      error: { code: "idempotency.mismatch", type: "conflict_error" },
    });
  });

  it("refuses an idempotency key of more than 200 characters", async () => {
    const response = await post(HELLO, { "idempotency-key": "k".repeat(201) });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "idempotency-key" } });
  });

  it("passes a refusal on before anything is streamed", async () => {
    service.runs.refusal = new ServiceError(
      "session.variable_missing",
      'The variable "sender_id" is missing.',
      {
        param: "sender_id",
      },
    );
    const response = await post({ ...HELLO, stream: true });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        message: 'The variable "sender_id" is missing.',
        type: "invalid_request_error",
        code: "session.variable_missing",
        param: "sender_id",
      },
    });
  });
});

describe("POST /v1/runs as a form", () => {
  it("takes file parts as attachments in order, with their UTF-8 names", async () => {
    const body = form(["报告 é.csv", "a,b"], ["b.png", "x", "image/png"]);
    const response = await service.fetch("/v1/runs", { method: "POST", body });
    expect(response.status).toBe(200);
    const contents = service.runs.requests[0]?.contents ?? [];
    expect(contents).toMatchObject([
      { name: "报告 é.csv", kind: "file", source: { kind: "blob", sizeBytes: 3 } },
      { name: "b.png", kind: "image", mimeType: "image/png", source: { kind: "blob", sizeBytes: 1 } },
    ]);
  });

  it("counts the files into the body that an idempotency key stands for", async () => {
    expect((await sendWithKey("one")).status).toBe(200);
    expect((await sendWithKey("one")).status).toBe(200);
    expect((await sendWithKey("two")).status).toBe(409);
  });

  it.each([
    [
      "one file above its limit",
      () => form(["a.bin", "x".repeat(1001)]),
      /"a\.bin" may have 1000 bytes; at least 1\d{3} bytes came/,
    ],
    [
      "all files together above theirs",
      () => form(["a", "x".repeat(1000)], ["b", "x".repeat(1000)], ["c", "x"]),
      /together may have 2000 bytes; at least 2\d{3} bytes came/,
    ],
    ["too many files", () => form(["a", ""], ["b", "1"], ["c", "1"], ["d", "1"]), /may have 3 files/],
  ])("refuses %s with 413, naming both figures, and keeps nothing", async (_case, make, message) => {
    const response = await service.fetch("/v1/runs", { method: "POST", body: make() });
    expect(response.status).toBe(413);
    const error = await readError(response);
    expect(error.code).toBe("request.too_large");
    expect(error.message).toMatch(message);
    expect(service.runs.requests).toEqual([]);
  });

  it("refuses an announced length above the limits before reading it", async () => {
    const body = form(["a", "x".repeat(40 * 1024 * 1024)]);
    const response = await service.fetch("/v1/runs", { method: "POST", body });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ error: { param: "file" } });
  });

  it.each([
    ["no request part", (data: FormData) => data.delete("request"), "request"],
    ["a request part that is no JSON", (data: FormData) => data.set("request", "{"), "request"],
    ["an unknown field", (data: FormData) => data.set("colour", "red"), "colour"],
    [
      "an unknown field in the request",
      (data: FormData) => data.set("request", '{"chat":{"launcher_id":"1"},"input":{},"colour":1}'),
      "colour",
    ],
    [
      "a file under another name",
      (data: FormData) => data.set("attachment", new File(["x"], "x")),
      "attachment",
    ],
  ])("refuses %s", async (_case, change, param) => {
    const body = form(["a", "x"]);
    change(body);
    const response = await service.fetch("/v1/runs", { method: "POST", body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: "request.invalid", param } });
  });
});

describe("looking at runs", () => {
  it("gives a run, and the list newest first in pages", async () => {
    for (const launcher_id of ["1", "2", "3"]) await post({ ...HELLO, chat: { launcher_id } });
    expect(await (await service.fetch("/v1/runs/run_2")).json()).toMatchObject({ id: "run_2" });
    const first = await service.fetch("/v1/runs?limit=2");
    const page = runListSchema.parse(await first.json());
    expect(page).toMatchObject({ object: "list", has_more: true });
    expect(page.data.map(({ id }) => id)).toEqual(["run_3", "run_2"]);
    const second = await service.fetch(`/v1/runs?limit=2&after=${page.next_cursor ?? ""}`);
    expect(await second.json()).toMatchObject({
      data: [{ id: "run_1" }],
      has_more: false,
      next_cursor: null,
    });
    const filtered = await service.fetch("/v1/runs?chat=person:2&status=completed");
    expect(await filtered.json()).toMatchObject({ data: [{ id: "run_2" }] });
  });

  it("refuses a cursor that is not one of ours, and finds nothing in a session that is none", async () => {
    await post(HELLO);
    const response = await service.fetch("/v1/runs?after=file_1");
    expect(response.status).toBe(400);
    expect(await readError(response)).toMatchObject({ param: "after" });
    expect(await (await service.fetch("/v1/runs?session=no%20such")).json()).toMatchObject({ data: [] });
  });

  it.each(["/v1/runs/run_99", "/v1/runs/file_1", "/v1/runs/%20", "/v1/runs/run_99/events"])(
    "answers 404 to %s",
    async (path) => {
      const response = await service.fetch(path);
      expect(response.status).toBe(404);
      expect(await readError(response)).toMatchObject({ code: "run.not_found" });
    },
  );

  it("replays the events from any number on, without gap and without repeat", async () => {
    await post(HELLO);
    expect(await eventIds("/v1/runs/run_1/events")).toEqual(["1", "2", "3"]);
    expect(await eventIds("/v1/runs/run_1/events?after=1")).toEqual(["2", "3"]);
    expect(await eventIds("/v1/runs/run_1/events?after=1", { "last-event-id": "2" })).toEqual(["3"]);
    expect(await eventIds("/v1/runs/run_1/events?after=3")).toEqual([]);
  });

  it("follows a run live after what was", async () => {
    service.runs.outcome = "later";
    await post({ ...HELLO, wait: false });
    service.runs.emit("run_1", "run.started", {});
    const response = await service.fetch("/v1/runs/run_1/events");
    const reading = readEvents(response);
    service.runs.end("run_1", "completed");
    expect((await reading).map(({ event }) => event)).toEqual([
      "run.started",
      "run.started",
      "message.delta",
      "run.completed",
    ]);
  });
});

describe("changing runs", () => {
  it("tells with a cancelled run where the messages are that waited, and clears them if asked to", async () => {
    service.runs.outcome = "later";
    await post({ ...HELLO, wait: false });
    const kept = await service.fetch("/v1/runs/run_1/cancel", { method: "POST" });
    expect(await kept.json()).toMatchObject({ messages: [{ id: "run_behind", place: "queue" }] });
    await post({ ...HELLO, wait: false });
    const cleared = await service.fetch("/v1/runs/run_2/cancel", json({ queue: "clear" }));
    expect(await cleared.json()).toMatchObject({ messages: [{ place: "not_answered" }] });
    const odd = await service.fetch("/v1/runs/run_2/cancel", json({ queue: "burn" }));
    expect([odd.status, await readError(odd)]).toMatchObject([400, { code: "request.invalid" }]);
  });

  it("steers a run that goes on, and lists what was meant for it", async () => {
    service.runs.outcome = "later";
    await post({ ...HELLO, wait: false });
    const steered = await service.fetch("/v1/runs/run_1/steer", json({ text: "Blue, please." }));
    expect([steered.status, await steered.json()]).toMatchObject([
      202,
      { object: "run", status: "steered", absorbed_by: "run_1", text: "Blue, please." },
    ]);
    const list = await service.fetch("/v1/runs/run_1/steering");
    expect(await list.json()).toMatchObject({ object: "list", data: [{ absorbed_by: "run_1" }] });
    const empty = await service.fetch("/v1/runs/run_1/steer", json({ text: "" }));
    expect(empty.status).toBe(400);
    service.runs.end("run_1", "completed");
    const late = await service.fetch("/v1/runs/run_1/steer", json({ text: "Late." }));
    expect([late.status, await readError(late)]).toMatchObject([409, { code: "run.ended" }]);
  });

  it("cancels a run once", async () => {
    service.runs.outcome = "later";
    await post({ ...HELLO, wait: false });
    const first = await service.fetch("/v1/runs/run_1/cancel", { method: "POST" });
    expect(await first.json()).toMatchObject({ status: "cancelled" });
    const second = await service.fetch("/v1/runs/run_1/cancel", json({}));
    expect(second.status).toBe(409);
    expect(await second.json()).toMatchObject({ error: { code: "run.ended" } });
  });

  it("repeats a failed run as a new one, and no other", async () => {
    service.runs.outcome = "failed";
    await post(HELLO);
    service.runs.outcome = "completed";
    const response = await service.fetch("/v1/runs/run_1/retry", { method: "POST" });
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ id: "run_2" });
    expect((await service.fetch("/v1/runs/run_2/retry", { method: "POST" })).status).toBe(409);
  });

  it.each(["file_1", "nothing"])("answers 404 for the delivery %s of another run", async (id) => {
    await post(HELLO);
    const response = await service.fetch(`/v1/runs/run_1/deliveries/${id}/ack`, json({ state: "sent" }));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: "delivery.not_found" } });
  });
});

describe("a client that leaves", () => {
  it("is told to the run it sent, and to no other", async () => {
    service.runs.outcome = "later";
    const sent = new AbortController();
    const request = json({ ...HELLO, stream: true });
    const response = await service.fetch("/v1/runs", { ...request, signal: sent.signal });
    const watching = new AbortController();
    await service.fetch("/v1/runs/run_1/events", { signal: watching.signal });
    watching.abort();
    await expect.poll(() => service.logger.lines.length).toBe(1);
    expect(service.runs.gone).toEqual([]);
    sent.abort();
    await expect.poll(() => service.runs.gone).toEqual(["run_1"]);
    expect(response.status).toBe(200);
  });
});

describe("an event stream that cannot go on", () => {
  it("ends with an error event when the service stops, and the client resumes by number", async () => {
    service.runs.outcome = "later";
    const response = await post({ ...HELLO, stream: true });
    service.runs.emit("run_1", "run.started", {});
    const reading = readEvents(response);
    await expect.poll(() => service.logger.lines.length).toBe(0);
    await service.listener.close(1000);
    const events = await reading;
    expect(events.map(({ event, id }) => [event, id])).toContainEqual(["error", undefined]);
    expect(JSON.parse(events.at(-1)?.data ?? "")).toMatchObject({
      type: "error",
      run_id: "run_1",
      data: { error: { code: "service.stopping", type: "server_error" } },
    });
  });

  it("ends with an error event when the service fails, and says nothing of the cause", async () => {
    service.runs.outcome = "later";
    service.runs.follow = async () => brokenEvents();
    const events = await readEvents(await post({ ...HELLO, stream: true }));
    expect(events.map(({ event }) => event)).toEqual(["error"]);
    expect(events[0]?.data).toContain('"code":"internal"');
    expect(events[0]?.data).not.toContain("canary");
  });

  it("ends with an error event when the events stop before the terminal one", async () => {
    service.runs.outcome = "later";
    service.runs.follow = async () => noEvents();
    const events = await readEvents(await post({ ...HELLO, stream: true }));
    expect(events.map(({ event }) => event)).toEqual(["error"]);
  });

  it("is refused when the tenant has too many", async () => {
    service.runs.outcome = "later";
    const streams = [];
    for (let i = 0; i < 5; i += 1) streams.push(await post({ ...HELLO, stream: true }));
    const sixth = await post({ ...HELLO, stream: true });
    expect(sixth.status).toBe(429);
    expect(sixth.headers.get("retry-after")).toBe("5");
    const other = json({ ...HELLO, wait: false });
    expect((await service.fetch("/v1/runs", { ...other, key: OTHER_KEY })).status).toBe(202);
    expect(streams).toHaveLength(5);
  });
});

describe("a reader that takes nothing", () => {
  it("is dropped after a while; nothing piles up for it, the run goes on, and it can come back", async () => {
    await using quick = await startHttpService({ streamTiming: { heartbeatMs: 60_000, stallMs: 50 } });
    quick.runs.outcome = "later";
    await quick.fetch("/v1/runs", json({ ...HELLO, wait: false }));
    const socket = connect(quick.port, "127.0.0.1").pause();
    socket.on("error", () => undefined);
    socket.write(
      `GET /v1/runs/run_1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${CLIENT_KEY}\r\n\r\n`,
    );
    const content = "x".repeat(100_000);
    for (let i = 0; i < 200; i += 1)
      quick.runs.emit("run_1", "message.delta", { chunk: { role: "assistant", content } });
    await expect.poll(() => quick.logger.lines.at(-1)?.fields["outcome"]).toBe("client_gone");
    socket.destroy();
    quick.runs.end("run_1", "completed");
    const events = await readEvents(await quick.fetch("/v1/runs/run_1/events?after=190"));
    expect(events.map(({ id }) => Number(id))).toEqual(Array.from({ length: 13 }, (_, i) => 191 + i));
  });
});

describe("the events of a run asked for by HEAD", () => {
  it("answer without a stream", async () => {
    service.runs.outcome = "later";
    await post({ ...HELLO, wait: false });
    const response = await service.fetch("/v1/runs/run_1/events", { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });
});

describe("the sign of life of an event stream", () => {
  it("is a comment line that no client takes for an event", async () => {
    await using quick = await startHttpService({ streamTiming: { heartbeatMs: 5, stallMs: 1000 } });
    quick.runs.outcome = "later";
    const response = await quick.fetch("/v1/runs", json({ ...HELLO, stream: true }));
    expect(await readFirst(response)).toMatch(/^(: alive\n\n)+$/);
  });
});
