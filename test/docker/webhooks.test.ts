/** Files of a real box on their way to a webhook receiver that does not say clearly what it did (runs §9.6, box §9). */
import { createServer } from "node:http";
import { text as readText } from "node:stream/consumers";
import Docker from "dockerode";
import { expect, inject, it } from "vitest";
import { z } from "zod";
import { runSchema } from "../../src/domain/run.js";
import { calls, ScriptedModel, text } from "../fakes/scripted-model.js";
import { exports, late, outboxOf } from "../support/agent-script.js";
import { onePipeline, standIn, startService } from "../support/composed-service.js";
import { removeServiceDirectory } from "../support/data-directory.js";
import { proves } from "../support/proves.js";
import { removeOwned, serviceIdOf } from "../support/service-boxes.js";
import { makeDirectory } from "../support/service-process.js";

const toldSchema = z.object({
  type: z.string(),
  data: z.object({
    id: z.string(),
    message: z.object({ content: z.string() }),
    deliveries: z.array(z.object({ id: z.string(), name: z.string() })),
  }),
});

it.skipIf(!inject("dockerAvailable"))(
  "hands text and files over once when the receiver stores them and then answers 500",
  async () => {
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
    const directory = await makeDirectory();
    await using _left = {
      [Symbol.asyncDispose]: async () => {
        await removeOwned(new Docker(), await serviceIdOf(directory));
        await removeServiceDirectory(directory);
      },
    };
    const options = {
      directory,
      models: new Map([["m1", model]]),
      settings: {
        boxes: { image: "berth-box:slim" },
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
    await expect.poll(() => statesOf(first), { timeout: 30_000 }).toEqual(["unknown", "unknown"]);
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
  },
  90_000,
);
