/** The composed service over HTTP: one run per key, streams that resume, conversations in order, nothing that leaks. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { runSchema } from "../../../src/domain/run.js";
import { runListSchema } from "../../../src/http/schemas/run-bodies.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { after, calls, failure, ScriptedModel, type Step, text } from "../../fakes/scripted-model.js";
import { exports, late, outboxOf } from "../../support/agent-script.js";
import { type ComposedService, onePipeline, standIn, startService } from "../../support/composed-service.js";
import { json } from "../../support/http-service.js";
import { noisePng } from "../../support/png.js";
import { proves } from "../../support/proves.js";
import { readStream, streamEvents } from "../../support/read-events.js";

const HELLO = { chat: { launcher_id: "42" }, input: { text: "Hello" } };

let service: ComposedService | null = null;
afterEach(async () => {
  await service?.[Symbol.asyncDispose]();
  service = null;
});

async function begin(
  steps: readonly Step[],
  settings: Readonly<Record<string, unknown>> = {},
): Promise<ScriptedModel> {
  const model = new ScriptedModel(steps);
  service = await startService({
    models: new Map([["m1", model]]),
    backend: new FakeBoxBackend(),
    settings: { models: [standIn("m1")], pipelines: [onePipeline("m1")], ...settings },
  });
  return model;
}

async function send(path: string, init?: RequestInit): Promise<Response> {
  if (service === null) throw new Error("The service was not started.");
  return service.fetch(path, init);
}

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const controller = new AbortController();
  const opened = new Promise<void>((resolve) => {
    controller.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  return { opened, open: () => controller.abort() };
}

describe("a message with an image in its contents", () => {
  it("leaves a mark in its place, and its base64 in no file of the data directory", async () => {
    proves("FLOW-17");
    using _model = await begin([text("Seen.")], {
      models: [standIn("m1", { abilities: ["func_call", "vision"] })],
    });
    const bytes = Buffer.concat([noisePng(20, 20), Buffer.from("canary of the image ".repeat(50))]);
    const data = bytes.toString("base64");
    const contents = [
      { type: "image_base64", name: "a.png", data },
      { type: "image_base64", name: "b.png", data: `data:image/png;base64,${data}` },
    ];
    const answer = await send("/v1/runs", json({ ...HELLO, input: { text: "See", contents } }));
    const run = runSchema.parse(await answer.json());
    expect(run).toMatchObject({ status: "completed", attachments: [{ name: "a.png" }, { name: "b.png" }] });
    const stored = await filesBelow(join(service?.directory ?? "", "data"));
    const records = stored.filter(({ name }) => name.startsWith("berth.db")).map(({ content }) => content);
    expect(records.join("")).toContain("[attachment 0: a.png, image/png");
    expect(records.join("")).not.toContain("canary of the image");
    expect(stored.some(({ content }) => content.includes("canary of the image"))).toBe(true);
    for (const { content } of stored)
      for (let at = 0; at + 40 < data.length; at += 97)
        expect(content.includes(data.slice(at, at + 40))).toBe(false);
  });
});

/** Every file below a directory, as latin1 text. */
async function filesBelow(directory: string): Promise<readonly { name: string; content: string }[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async ({ name, parentPath }) => ({
        name,
        content: await readFile(join(parentPath, name), "latin1"),
      })),
  );
}

describe("an idempotency key", () => {
  it("posted five times at once makes one run and one delivery", async () => {
    proves("FLOW-22");
    const wait = gate();
    using model = await begin([
      after(
        wait.opened,
        late((request) =>
          calls([{ name: "write", arguments: { path: `${outboxOf(request)}/a.txt`, content: "x" } }]),
        ),
      ),
      exports("a.txt"),
      text("done"),
    ]);
    const request = json(HELLO);
    const headers = { ...request.headers, "idempotency-key": "k-1" };
    const posted = Array.from({ length: 5 }, () => send("/v1/runs", { ...request, headers }));
    await expect.poll(() => model.requests.length).toBe(1);
    wait.open();
    const answers = await Promise.all(posted);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const ran = await Promise.all(answers.map(async (answer) => runSchema.parse(await answer.json())));
    expect(new Set(ran.map(({ id }) => id)).size).toBe(1);
    const again = await send("/v1/runs", { ...request, headers });
    expect(again.status).toBe(200);
    expect(await again.json()).toMatchObject({
      id: ran[0]?.id,
      status: "completed",
      deliveries: [{ name: "a.txt", bytes: 1 }],
    });
    const listed = runListSchema.parse(await (await send("/v1/runs")).json());
    expect(listed.data).toHaveLength(1);
  });
});

describe("a client that loses its stream", () => {
  it("gets what it missed once and in order when it comes back, while the run went on", async () => {
    proves("FLOW-19");
    const wait = gate();
    using _model = await begin([
      calls([{ name: "write", arguments: { path: "/workspace/a.txt", content: "x" } }]),
      after(wait.opened, text(["one ", "two ", "three"])),
    ]);
    const leaving = new AbortController();
    const first = await send("/v1/runs", { ...json({ ...HELLO, stream: true }), signal: leaving.signal });
    const seen = [];
    for await (const event of streamEvents(first)) {
      seen.push(event);
      if (event.type === "tool.call.completed") break;
    }
    leaving.abort();
    wait.open();
    const path = `/v1/runs/${seen[0]?.run_id ?? ""}/events`;
    const last = seen.at(-1)?.sequence ?? 0;
    const missed = await readStream(await send(path, { headers: { "last-event-id": String(last) } }));
    expect(missed.map(({ sequence }) => sequence)).toEqual(missed.map((_event, index) => last + 1 + index));
    expect(missed.at(-1)).toMatchObject({
      type: "run.completed",
      data: { message: { content: "one two three" } },
    });
    const whole = await readStream(await send(path));
    expect(whole).toEqual([...seen, ...missed]);
  });
});

describe("a conversation that is busy", () => {
  it("answers its next message with 202 and steered or, of one with a file, queued; and the answers follow", async () => {
    proves("STATE-13");
    const wait = gate();
    using model = await begin([after(wait.opened, text("first")), text("and this"), text("second")]);
    const first = send("/v1/runs", json(HELLO));
    await expect.poll(() => model.requests.length).toBe(1);
    const words = await send("/v1/runs", json({ ...HELLO, input: { text: "And this?" } }));
    expect(words.status).toBe(202);
    expect(await words.json()).toMatchObject({ object: "run", status: "steered" });
    const contents = [{ type: "file_base64", name: "a.txt", data: "aGF5" }];
    const second = await send("/v1/runs", json({ ...HELLO, input: { text: "And that?", contents } }));
    expect(second.status).toBe(202);
    const queued = runSchema.parse(await second.json());
    expect(queued.status).toBe("queued");
    wait.open();
    expect(await (await first).json()).toMatchObject({ status: "completed" });
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: "user", content: "And this?" });
    const events = await readStream(await send(`/v1/runs/${queued.id}/events`));
    expect(events.at(-1)).toMatchObject({ type: "run.completed", data: { message: { content: "second" } } });
  });
});

describe("the metrics", () => {
  it("count the boxes that are awake and the runs that execute", async () => {
    using _model = await begin([text("fine")]);
    await send("/v1/runs", json(HELLO));
    const figures = await (await send("/metrics")).text();
    expect(figures).toMatch(/^berth_boxes_awake 1$/m);
    expect(figures).toMatch(/^berth_runs_active 0$/m);
  });
});

describe("secrets", () => {
  it("of the configuration reach neither log, answers, database nor files", async () => {
    const key = "canary-api-key-0123456789-0123456789";
    using _model = await begin([failure("model.credentials_refused"), text("fine")], {
      server: { port: 0, keys: [{ key, tenant: "main", role: "admin" }] },
      models: [standIn("m1", { api_key: "canary-model-key" })],
    });
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const answers: string[] = [];
    const keep = async (path: string, init: RequestInit = {}) => {
      answers.push(await (await send(path, { headers, ...init })).text());
    };
    await keep("/v1/runs", { method: "POST", body: JSON.stringify(HELLO) });
    await keep("/v1/runs", { method: "POST", body: JSON.stringify({ ...HELLO, stream: true }) });
    await keep("/v1/runs", { method: "POST", body: "{", headers });
    await keep("/v1/runs", { headers: { authorization: "Bearer canary-wrong" } });
    await keep("/v1/files/file_1?token=canary-query");
    for (const path of ["/v1/runs", "/metrics", "/readyz", "/openapi.json", "/"]) await keep(path);
    expect(answers.join("\n")).not.toContain("canary");
    expect(service?.log.length).toBeGreaterThan(5);
    expect(service?.log.join("\n")).not.toContain("canary");
    expect(await textOfFiles(join(service?.directory ?? "", "data"))).not.toContain("canary");
  });
});

async function textOfFiles(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, "latin1")))).join("\n");
}
