/** kill -9 of the service in the middle of a run: nothing is lost, nothing is left without an owner (runs §20.4, box §11.11). */
import { createHash } from "node:crypto";
import Docker from "dockerode";
import { afterEach, describe, expect, inject, it } from "vitest";
import { runSchema } from "../../src/domain/run.js";
import {
  type ReceivedRequest,
  reply,
  type ScriptedModelServer,
  type ServerStep,
  startScriptedModelServer,
} from "../fakes/scripted-model-server.js";
import { onePipeline, sendMessage } from "../support/composed-service.js";
import { removeServiceDirectory } from "../support/data-directory.js";
import { streamEvents } from "../support/read-events.js";
import { ownedContainers, ownedVolumes, removeOwned, serviceIdOf } from "../support/service-boxes.js";
import { makeDirectory, type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const ENGINE = new Docker();
const MESSAGE = { chat: { launcher_type: "person", launcher_id: "42" }, input: { text: "Work" } };

let directory: string;
let service: ServiceProcess;

afterEach(async () => {
  await service.kill("SIGTERM");
  await removeOwned(ENGINE, await serviceIdOf(directory));
  await service[Symbol.asyncDispose]();
  await removeServiceDirectory(directory);
});

function outboxOf(request: ReceivedRequest): string {
  const user = request.body.messages?.findLast(({ role }) => role === "user");
  const path = /\/workspace\/outbox\/run_[A-Za-z0-9]+/.exec(JSON.stringify(user))?.[0];
  if (path === undefined) throw new Error("The user message names no outbox.");
  return path;
}

function call(
  name: string,
  parameters: (request: ReceivedRequest) => Readonly<Record<string, unknown>>,
): ServerStep {
  return (request, response) =>
    reply({
      calls: [{ id: `call_${name}`, function: { name, arguments: JSON.stringify(parameters(request)) } }],
    })(request, response);
}

async function start(model: ScriptedModelServer): Promise<ServiceProcess> {
  return startServiceProcess({
    directory,
    settings: {
      boxes: { image: "berth-box:slim" },
      models: [{ id: "m1", base_url: model.baseUrl, model: "scripted" }],
      pipelines: [onePipeline("m1")],
    },
  });
}

describe.skipIf(!inject("dockerAvailable"))("a service that is killed in the middle of a run", () => {
  it("ends the run as interrupted, keeps its exported file, and serves the chat's next message", async () => {
    directory = await makeDirectory();
    await using model = await startScriptedModelServer(
      [
        call("exec", () => ({
          command: 'echo result > "$BERTH_OUTBOX/a.txt"; echo kept > /workspace/kept.txt',
        })),
        call("export_box_files", (request) => ({ paths: [`${outboxOf(request)}/a.txt`] })),
        call("exec", () => ({ command: "sleep 611" })),
        call("exec", () => ({ command: "cat /workspace/kept.txt; pgrep -xcu $(id -u) sleep" })),
        reply({ content: "back again" }),
      ],
      { isStrict: true },
    );
    service = await start(model);
    const runId = await reachThirdCall(service);
    await service.kill("SIGKILL");

    service = await start(model);
    const run = runSchema.parse(await (await fetch(`${service.url}/v1/runs/${runId}`)).json());
    expect(run).toMatchObject({ status: "failed", error: { code: "run.interrupted", retryable: true } });
    const [delivery] = run.deliveries;
    expect(run.deliveries).toHaveLength(1);
    const bytes = Buffer.from(await (await fetch(`${service.url}${delivery?.url}`)).arrayBuffer());
    expect(bytes.toString()).toBe("result\n");
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(delivery?.sha256);

    const next = await sendMessage(service.url, MESSAGE);
    expect(next).toMatchObject({ status: "completed", message: { content: "back again" } });
    expect(next.session).toEqual(run.session);
    const seen = JSON.stringify(model.body().messages);
    expect(seen).toContain("interrupted: result unknown");
    expect(seen).toContain("kept\\\\n0");
    expect(model.faults).toEqual([]);
    model.assertFinished();

    const id = await serviceIdOf(directory);
    expect(await ownedContainers(ENGINE, id)).toHaveLength(1);
    expect(await ownedVolumes(ENGINE, id)).toHaveLength(1);
  });
});

/** @returns the id of the run that was going on */
async function reachThirdCall(running: ServiceProcess): Promise<string> {
  const response = await fetch(`${running.url}/v1/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...MESSAGE, stream: true }),
  });
  let calls = 0;
  for await (const event of streamEvents(response)) {
    if (event.type === "tool.call.started") calls += 1;
    if (calls === 3) return event.run_id;
  }
  throw new Error("The run ended before its third call.");
}
