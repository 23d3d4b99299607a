/** Webhooks of the composed service, verified by the public package as any receiver would. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import { z } from "zod";
import { runSchema } from "../../../src/domain/run.js";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { calls, ScriptedModel, text } from "../../fakes/scripted-model.js";
import { exports, late, outboxOf } from "../../support/agent-script.js";
import { onePipeline, standIn, startService } from "../../support/composed-service.js";
import { proves } from "../../support/proves.js";
import { withTempDir } from "../../support/temp-dir.js";

const toldSchema = z.object({
  type: z.string(),
  data: z.object({
    id: z.string(),
    message: z.object({ content: z.string() }),
    deliveries: z.array(z.object({ id: z.string(), name: z.string() })),
  }),
});

it("tells a receiver of the end of a run, signed so that the public package verifies it", async () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const server = createServer();
  const received = new Promise<unknown>((resolve, reject) => {
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      readText(request)
        .then((body) => {
          const headers = Object.fromEntries(
            Object.entries(request.headersDistinct).map(([name, values]) => [name, values?.[0] ?? ""]),
          );
          response.end();
          return resolve(new Webhook(secret).verify(body, headers));
        })
        .catch(reject);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const host = `127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  await using service = await startService({
    models: new Map([["m1", new ScriptedModel([text("Done.")])]]),
    backend: new FakeBoxBackend(),
    settings: {
      models: [standIn("m1")],
      pipelines: [onePipeline("m1")],
      outbound: { allowed_private_hosts: [host] },
      webhooks: [{ url: `http://${host}/hook`, secret }],
    },
  });
  const run = await service.send({ chat: { launcher_id: "42" }, input: { text: "Hello" } });
  expect(await received).toMatchObject({
    type: "run.completed",
    data: { id: run.id, message: { content: "Done." } },
  });
  server.close();
});

it("hands text and files over once when the receiver stores them and then answers 500", async () => {
  proves("OUT-17");
  const stored: z.infer<typeof toldSchema>[] = [];
  const server = createServer((request, response) => {
    readText(request)
      .then((body) => {
        stored.push(toldSchema.parse(JSON.parse(body)));
        return response.writeHead(500).end();
      })
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const host = `127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  using model = new ScriptedModel([
    late((request) =>
      calls(
        ["a.txt", "b.txt"].map((name) => ({
          name: "write",
          arguments: { path: `${outboxOf(request)}/${name}`, content: name },
        })),
      ),
    ),
    exports("a.txt", "b.txt"),
    text("Both are there."),
    text("Second."),
  ]);
  await using directory = await withTempDir();
  const options = {
    directory: directory.path,
    models: new Map([["m1", model]]),
    backend: new FakeBoxBackend(),
    settings: {
      models: [standIn("m1")],
      pipelines: [onePipeline("m1")],
      outbound: { allowed_private_hosts: [host] },
      webhooks: [{ url: `http://${host}/hook`, secret: "of-a-receiver".padEnd(32, "-") }],
    },
  };
  const chat = { launcher_id: "42" };
  const first = await startService(options);
  const readRun = async (service: typeof first, id: string) =>
    runSchema.parse(await (await service.fetch(`/v1/runs/${id}`)).json());
  const posted = await first.fetch("/v1/runs", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ chat, input: { text: "Hello" }, wait: false }),
  });
  const { id } = z.object({ id: z.string() }).parse(await posted.json());
  const statesOf = async (service: typeof first) =>
    (await readRun(service, id)).deliveries.map(({ state }) => state);
  await expect.poll(() => statesOf(first), { timeout: 10_000 }).toEqual(["unknown", "unknown"]);
  expect(stored).toMatchObject([
    { type: "run.completed", data: { id, message: { content: "Both are there." } } },
  ]);
  const idsStored = stored[0]?.data.deliveries.map((file) => file.id);
  expect(new Set(idsStored).size).toBe(2);
  await first[Symbol.asyncDispose]();

  await using again = await startService(options);
  const next = await again.send({ chat, input: { text: "Hello again" } });
  // The message without files is repeated by itself; the one with files, which was due earlier, is not.
  await expect
    .poll(() => stored.map(({ data }) => data.id), { timeout: 15_000 })
    .toEqual([id, next.id, next.id]);
  const repeated = await readRun(again, id);
  expect(repeated).toMatchObject({ status: "completed", message: { content: "Both are there." } });
  expect(repeated.deliveries.map((file) => file.id)).toEqual(idsStored);
  expect(await statesOf(again)).toEqual(["unknown", "unknown"]);
  server.close();
}, 40_000);
