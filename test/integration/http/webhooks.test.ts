/** Webhooks of the composed service, verified by the public package as any receiver would. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { ScriptedModel, text } from "../../fakes/scripted-model.js";
import { onePipeline, standIn, startService } from "../../support/composed-service.js";

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
