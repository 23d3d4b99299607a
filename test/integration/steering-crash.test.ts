/** The process is killed while messages wait for a run: the next one answers each of them (runs §14.6, §20.4). */
import { expect, it } from "vitest";
import { type Run, runSchema } from "../../src/domain/run.js";
import { type SteeredMessage, steeredMessageSchema } from "../../src/domain/steering.js";
import { hang, reply, startScriptedModelServer } from "../fakes/scripted-model-server.js";
import { onePipeline } from "../support/composed-service.js";
import { removeServiceDirectory } from "../support/data-directory.js";
import { json } from "../support/http-service.js";
import { makeDirectory, startServiceProcess } from "../support/service-process.js";

const PATIENCE_MS = 120_000;

async function post(url: string, text: string): Promise<unknown> {
  const body = { chat: { launcher_id: "42" }, input: { text }, wait: false };
  const response = await fetch(`${url}/v1/runs`, json(body));
  expect(response.status).toBe(202);
  return response.json();
}

async function ended(url: string, id: string): Promise<Run> {
  for (;;) {
    const run = runSchema.parse(await (await fetch(`${url}/v1/runs/${id}`)).json());
    if (run.status !== "queued" && run.status !== "running") return run;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

it(
  "loses no message that waits for a run when the process is killed",
  async () => {
    await using model = await startScriptedModelServer([
      hang(),
      ...["Two", "Three", "Four"].map((text) => reply({ content: `Answer to ${text}` })),
    ]);
    const settings = {
      boxes: { enabled: false },
      models: [{ id: "m1", base_url: model.baseUrl, model: "m1", api_key: "none" }],
      pipelines: [onePipeline("m1", { "box-enabled": false })],
    };
    const directory = await makeDirectory();
    try {
      let first: Run;
      const steered: SteeredMessage[] = [];
      {
        await using service = await startServiceProcess({ settings, directory });
        first = runSchema.parse(await post(service.url, "One"));
        await expect.poll(() => model.requests.length, { timeout: 30_000 }).toBe(1);
        for (const text of ["Two", "Three", "Four"])
          steered.push(steeredMessageSchema.parse(await post(service.url, text)));
        await service.kill("SIGKILL");
      }
      await using again = await startServiceProcess({ settings, directory });
      expect(await ended(again.url, first.id)).toMatchObject({ error: { code: "run.interrupted" } });
      for (const { id, text } of steered)
        expect(await ended(again.url, id)).toMatchObject({
          status: "completed",
          message: { content: `Answer to ${text}` },
        });
    } finally {
      await removeServiceDirectory(directory);
    }
  },
  PATIENCE_MS,
);
